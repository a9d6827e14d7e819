"""Write a drawing as SVG, without any other library."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape, quoteattr

from symphony9_env.render.drawing import Circle, Drawing, Line, Primitive, Rectangle, Text
from symphony9_env.render.theme import FONT

_NEARLY_FULL: Final = 0.85  # part of the largest width from which text is squeezed, as the reader's font may be wider


def to_svg(drawing: Drawing) -> str:
    """Return an `<svg>` element, as wide as its surroundings allow up to its own size."""
    width, height = drawing.width, drawing.height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="max-width:100%;height:auto" role="img" aria-label={quoteattr(drawing.title)} '
        f"font-family={quoteattr(FONT)}>"
    )
    return "\n".join([head, *(_element(shape) for shape in drawing.primitives), "</svg>"])


def to_html(drawing: Drawing) -> str:
    """Return an element for a notebook or page that shrinks with the page."""
    return f'<div style="max-width:{drawing.width}px">{to_svg(drawing)}</div>'


def _element(shape: Primitive) -> str:
    if isinstance(shape, Text):
        return _text_element(shape)
    if isinstance(shape, Line):
        (x1, y1), (x2, y2) = shape.start, shape.end
        paint = _paint_attributes(None, shape.stroke, shape.stroke_width)
        return f"<line{_number_attributes(x1=x1, y1=y1, x2=x2, y2=y2)}{paint}/>"
    paint = _paint_attributes(shape.fill, shape.stroke, shape.stroke_width)
    if isinstance(shape, Rectangle):
        position = _number_attributes(x=shape.x, y=shape.y, width=shape.width, height=shape.height)
        return f"<rect{position}{_number_attributes(rx=shape.radius) if shape.radius else ''}{paint}/>"
    if isinstance(shape, Circle):
        return f"<circle{_number_attributes(cx=shape.x, cy=shape.y, r=shape.radius)}{paint}/>"
    corners = " ".join(f"{_format_number(x)},{_format_number(y)}" for x, y in shape.points)
    return f'<polygon points="{corners}"{paint}/>'


def _text_element(label: Text) -> str:
    size = label.fitted_size
    parts = [
        _number_attributes(x=label.x, y=label.y),
        f' font-size="{_format_number(size)}" fill={quoteattr(label.fill)}',
    ]
    if label.anchor != "start":
        parts.append(f' text-anchor="{label.anchor}"')
    if label.bold:
        parts.append(' font-weight="600"')
    if label.fit is not None and label.width > _NEARLY_FULL * label.fit:
        # Squeeze the text to the room there is, whatever the reader's font.
        parts.append(f' textLength="{_format_number(min(label.width, label.fit))}" lengthAdjust="spacingAndGlyphs"')
    return f"<text{''.join(parts)}>{escape(label.text)}</text>"


def _paint_attributes(fill: str | None, stroke: str | None, width: float) -> str:
    edge = f' stroke={quoteattr(stroke)} stroke-width="{_format_number(width)}"' if stroke else ""
    return f" fill={quoteattr(fill or 'none')}{edge}"


def _number_attributes(**values: float) -> str:
    return "".join(f' {name}="{_format_number(value)}"' for name, value in values.items())


def _format_number(value: float) -> str:
    return f"{round(value, 2):g}"
