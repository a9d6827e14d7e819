"""Tournaments, ratings, reports and the benchmark; needs the `eval` extra."""
