"""Where a shape of a drawing lies, and how wide text is painted."""

from __future__ import annotations

from typing import Final

from symphony9_env.render.drawing import Circle, Polygon, Primitive, Rectangle, Text, text_width
from symphony9_env.render.pixels import measure

DESCENT: Final = 0.22  # how far letters reach below their baseline, relative to the font size
ASCENT: Final = 0.74  # how far they reach above it


def bounds(shape: Primitive) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a shape, strokes included; of text approximately."""
    if isinstance(shape, Text):
        size = shape.fitted_size
        width = text_width(shape.text, size, shape.bold)
        left = shape.x - {"start": 0.0, "middle": width / 2, "end": width}[shape.anchor]
        return left, shape.y - ASCENT * size, left + width, shape.y + DESCENT * size
    if isinstance(shape, Rectangle):
        corners = [(shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height)]
    elif isinstance(shape, Circle):
        corners = [(shape.x - shape.radius, shape.y - shape.radius), (shape.x + shape.radius, shape.y + shape.radius)]
    else:
        corners = list(shape.points if isinstance(shape, Polygon) else (shape.start, shape.end))
    edge = shape.stroke_width / 2 if shape.stroke else 0.0
    across, down = zip(*corners, strict=True)
    return min(across) - edge, min(down) - edge, max(across) + edge, max(down) + edge


def text_length(label: Text) -> float:
    """Return the width of text as it is painted, in pixels of the image."""
    length = measure(label, label.fitted_size)
    return length if label.fit is None else min(length, label.fit)
