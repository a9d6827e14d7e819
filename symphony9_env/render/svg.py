"""A drawing as SVG text. It needs no other library."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape, quoteattr

from symphony9_env.render.drawing import Circle, Drawing, Line, Polygon, Primitive, Rectangle, Text
from symphony9_env.render.theme import FONT

_NEARLY_FULL: Final = 0.85  # of the room that words may take: some reader's font may be this much wider than thought


def to_svg(drawing: Drawing) -> str:
    """One `<svg>` element, as wide as its surroundings allow up to its own size."""
    width, height = drawing.width, drawing.height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="max-width:100%;height:auto" role="img" aria-label={quoteattr(drawing.title)} '
        f"font-family={quoteattr(FONT)}>"
    )
    return "\n".join([head, *(_element(shape) for shape in drawing.primitives), "</svg>"])


def to_html(drawing: Drawing) -> str:
    """The picture for a notebook or page: it shrinks with the page."""
    return f'<div style="max-width:{drawing.width}px">{to_svg(drawing)}</div>'


def _element(shape: Primitive) -> str:
    if isinstance(shape, Text):
        return _text(shape)
    if isinstance(shape, Line):
        (x1, y1), (x2, y2) = shape.start, shape.end
        return f"<line{_numbers(x1=x1, y1=y1, x2=x2, y2=y2)}{_paint(None, shape.stroke, shape.stroke_width)}/>"
    paint = _paint(shape.fill, shape.stroke, shape.stroke_width)
    if isinstance(shape, Rectangle):
        place = _numbers(x=shape.x, y=shape.y, width=shape.width, height=shape.height)
        return f"<rect{place}{_numbers(rx=shape.radius) if shape.radius else ''}{paint}/>"
    if isinstance(shape, Circle):
        return f"<circle{_numbers(cx=shape.x, cy=shape.y, r=shape.radius)}{paint}/>"
    assert isinstance(shape, Polygon)
    corners = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
    return f'<polygon points="{corners}"{paint}/>'


def _text(words: Text) -> str:
    size = words.fitted_size
    parts = [_numbers(x=words.x, y=words.y), f' font-size="{_number(size)}" fill={quoteattr(words.fill)}']
    if words.anchor != "start":
        parts.append(f' text-anchor="{words.anchor}"')
    if words.bold:
        parts.append(' font-weight="600"')
    if words.fit is not None and words.width > _NEARLY_FULL * words.fit:
        # Whatever the reader's font, it is squeezed to the room there is.
        parts.append(f' textLength="{_number(min(words.width, words.fit))}" lengthAdjust="spacingAndGlyphs"')
    return f"<text{''.join(parts)}>{escape(words.text)}</text>"


def _paint(fill: str | None, stroke: str | None, width: float) -> str:
    edge = f' stroke={quoteattr(stroke)} stroke-width="{_number(width)}"' if stroke else ""
    return f" fill={quoteattr(fill or 'none')}{edge}"


def _numbers(**values: float) -> str:
    return "".join(f' {name}="{_number(value)}"' for name, value in values.items())


def _number(value: float) -> str:
    return f"{round(value, 2):g}"
