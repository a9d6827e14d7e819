"""Images of what a seat may know: SVG and HTML without any other library, PNG and arrays with Pillow.

A drawing is made from a `SeatView` alone, so it can't show more than that seat may know.

>>> from symphony9_env import render, seat_view, symphony9_v0
>>> env = symphony9_v0.raw_env(num_players=3)
>>> env.reset(seed=7)
>>> drawing = render.draw(seat_view(env.states, 0, seat=1))
>>> render.to_svg(drawing)[:4]
'<svg'
"""

from symphony9_env.render.layout import draw
from symphony9_env.render.pixels import to_array, to_png
from symphony9_env.render.svg import to_html, to_svg

__all__ = ["draw", "to_array", "to_html", "to_png", "to_svg"]
