"""Paint a drawing as pixels with Pillow (`pip install "symphony9-env[render]"`), independent of the system's fonts."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.render.drawing import Anchor, Circle, Drawing, Line, Polygon, Primitive, Text

if TYPE_CHECKING:
    from PIL import Image

_FINE: Final = 3  # everything is painted this much larger and then reduced, which makes edges smooth
_OUTLINE: Final = 1  # the width of the outline that makes letters bold
_ANCHORS: Final[dict[Anchor, str]] = {"start": "ls", "middle": "ms", "end": "rs"}
_REPLACEMENTS: Final = str.maketrans({"–": "-", "−": "-", "×": "x"})  # Pillow's own font lacks these
_MISSING: Final = 'images need Pillow: pip install "symphony9-env[render]"'


def to_array(drawing: Drawing) -> NDArray[np.uint8]:
    """Return the image as an array, height by width by 3 (red, green, blue)."""
    return np.array(to_image(drawing), np.uint8)


def to_png(drawing: Drawing) -> bytes:
    """Return the image as a PNG file with 256 colours, which keeps it small."""
    require_pillow()
    from PIL import Image

    file = BytesIO()
    few = to_image(drawing).quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, "PNG", optimize=True)
    return file.getvalue()


def to_image(drawing: Drawing) -> Image.Image:
    """Return the drawing as a Pillow image."""
    require_pillow()
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (drawing.width * _FINE, drawing.height * _FINE), "white")
    brush = ImageDraw.Draw(image)
    for shape in drawing.primitives:
        _paint(brush, shape)
    return image.reduce(_FINE)


def require_pillow() -> None:
    """Raise an ImportError that says what to install if Pillow is missing."""
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise ImportError(_MISSING) from error


def _paint(brush: Any, shape: Primitive) -> None:
    if isinstance(shape, Text):
        _paint_text(brush, shape)
        return
    width = max(1, round(shape.stroke_width * _FINE))
    # Pillow draws strokes inside the shape; ours, like SVG's, are half outside.
    edge = shape.stroke_width / 2 if shape.stroke else 0.0
    if isinstance(shape, Line):
        brush.line([_scale(shape.start), _scale(shape.end)], shape.stroke, width)
    elif isinstance(shape, Polygon):
        corners = [_scale(point) for point in shape.points]
        brush.polygon(corners, shape.fill)
        if shape.stroke:
            brush.line([*corners, *corners[:2]], shape.stroke, width, joint="curve")
    elif isinstance(shape, Circle):
        box = _pillow_box(shape.x - shape.radius, shape.y - shape.radius, 2 * shape.radius, 2 * shape.radius, edge)
        brush.ellipse(box, shape.fill, shape.stroke, width)
    else:
        box = _pillow_box(shape.x, shape.y, shape.width, shape.height, edge)
        if shape.radius:
            brush.rounded_rectangle(box, (shape.radius + edge) * _FINE, shape.fill, shape.stroke, width)
        else:
            brush.rectangle(box, shape.fill, shape.stroke, width)


def _paint_text(brush: Any, label: Text) -> None:
    size = label.fitted_size
    if label.fit is not None and (length := measure(label, size)) > label.fit:  # the font is wider than estimated
        size *= label.fit / length
    x, y = _scale((label.x, label.y))
    text, font = label.text.translate(_REPLACEMENTS), _font(round(size * _FINE))
    if not label.bold:
        brush.text((x, y), text, label.fill, font, _ANCHORS[label.anchor])
        return
    # Pillow's own font has no bold variant: bold letters get a thin outline, and room for it.
    x -= {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor] * measure(label, size) * _FINE
    for letter in text:
        brush.text((x, y), letter, label.fill, font, "ls", stroke_width=_OUTLINE)
        x += font.getlength(letter) + _OUTLINE


def measure(label: Text, size: float) -> float:
    """Return the width of text as it is painted in this size, in pixels of the image."""
    font, text = _font(round(size * _FINE)), label.text.translate(_REPLACEMENTS)
    if label.bold:
        return float(sum(font.getlength(letter) + _OUTLINE for letter in text) / _FINE)
    return float(font.getlength(text) / _FINE)


@cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _scale(point: tuple[float, float]) -> tuple[float, float]:
    return point[0] * _FINE, point[1] * _FINE


def _pillow_box(x: float, y: float, width: float, height: float, edge: float) -> tuple[float, float, float, float]:
    """Return a box for Pillow, which includes its last pixel."""
    left, top = _scale((x - edge, y - edge))
    right, bottom = _scale((x + width + edge, y + height + edge))
    return left, top, right - 1, bottom - 1
