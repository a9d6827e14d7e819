"""Replays of recorded games: as data, as a page for the browser, and as one HTML file (`symphony9 watch`).

The page's board drawing in `static` is shared with the pages of `symphony9_env.web`.
"""
