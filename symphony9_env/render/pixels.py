"""A drawing as pixels, by Pillow (`pip install "symphony9-env[render]"`). It needs no fonts of the system."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.render.drawing import Anchor, Circle, Drawing, Line, Polygon, Primitive, Rectangle, Text

if TYPE_CHECKING:
    from PIL import Image

_FINE: Final = 3  # everything is painted this much larger and then made smaller: so edges get smooth
_OUTLINE: Final = 1  # of bold letters
_ANCHORS: Final[dict[Anchor, str]] = {"start": "ls", "middle": "ms", "end": "rs"}
_IN_THE_FONT: Final = str.maketrans({"–": "-", "−": "-", "×": "x"})  # Pillow's own font has few letters
_MISSING: Final = 'pictures need Pillow: pip install "symphony9-env[render]"'


def to_array(drawing: Drawing) -> NDArray[np.uint8]:
    """Height by width by 3: red, green, blue."""
    return np.array(to_image(drawing), np.uint8)


def to_png(drawing: Drawing) -> bytes:
    """A PNG file, small: few colours."""
    need_pillow()
    from PIL import Image

    file = BytesIO()
    few = to_image(drawing).quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, "PNG", optimize=True)
    return file.getvalue()


def to_image(drawing: Drawing) -> Image.Image:
    need_pillow()
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (drawing.width * _FINE, drawing.height * _FINE), "white")
    brush = ImageDraw.Draw(image)
    for shape in drawing.primitives:
        _paint(brush, shape)
    return image.reduce(_FINE)


def need_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise ImportError(_MISSING) from error


def text_length(words: Text) -> float:
    """How wide the words are as they are painted, in pixels of the picture."""
    size = words.fitted_size
    length = _length(words, size)
    return length if words.fit is None else min(length, words.fit)


def _paint(brush: Any, shape: Primitive) -> None:
    if isinstance(shape, Text):
        _write(brush, shape)
        return
    width = max(1, round(shape.stroke_width * _FINE))
    if isinstance(shape, Line):
        brush.line([_fine(shape.start), _fine(shape.end)], shape.stroke, width)
        return
    if isinstance(shape, Polygon):
        corners = [_fine(point) for point in shape.points]
        brush.polygon(corners, shape.fill)
        if shape.stroke:
            brush.line([*corners, *corners[:2]], shape.stroke, width, joint="curve")
        return
    # Pillow's strokes lie inside the shape, ours (as SVG's) half outside.
    edge = shape.stroke_width / 2 if shape.stroke else 0.0
    if isinstance(shape, Circle):
        box = _box(shape.x - shape.radius, shape.y - shape.radius, 2 * shape.radius, 2 * shape.radius, edge)
        brush.ellipse(box, shape.fill, shape.stroke, width)
        return
    assert isinstance(shape, Rectangle)
    box = _box(shape.x, shape.y, shape.width, shape.height, edge)
    if shape.radius:
        brush.rounded_rectangle(box, (shape.radius + edge) * _FINE, shape.fill, shape.stroke, width)
    else:
        brush.rectangle(box, shape.fill, shape.stroke, width)


def _write(brush: Any, words: Text) -> None:
    size = words.fitted_size
    if words.fit is not None and (length := _length(words, size)) > words.fit:  # the font is wider than thought
        size *= words.fit / length
    x, y = _fine((words.x, words.y))
    text, font = words.text.translate(_IN_THE_FONT), _font(round(size * _FINE))
    if not words.bold:
        brush.text((x, y), text, words.fill, font, _ANCHORS[words.anchor])
        return
    # Pillow's own font has no bold face: bold letters get a thin outline, and room for it.
    x -= {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor] * _length(words, size) * _FINE
    for letter in text:
        brush.text((x, y), letter, words.fill, font, "ls", stroke_width=_OUTLINE)
        x += font.getlength(letter) + _OUTLINE


def _length(words: Text, size: float) -> float:
    font, text = _font(round(size * _FINE)), words.text.translate(_IN_THE_FONT)
    if words.bold:
        return float(sum(font.getlength(letter) + _OUTLINE for letter in text) / _FINE)
    return float(font.getlength(text) / _FINE)


@cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _fine(point: tuple[float, float]) -> tuple[float, float]:
    return point[0] * _FINE, point[1] * _FINE


def _box(x: float, y: float, width: float, height: float, edge: float) -> tuple[float, float, float, float]:
    """Pillow's box includes its last pixel."""
    left, top = _fine((x - edge, y - edge))
    right, bottom = _fine((x + width + edge, y + height + edge))
    return left, top, right - 1, bottom - 1
