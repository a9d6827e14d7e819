"""Drawings as SVG and as pixels, without the game."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from symphony9_env.render.drawing import Circle, Drawing, Line, Polygon, Rectangle, Text, text_width
from symphony9_env.render.pixels import to_array, to_png
from symphony9_env.render.svg import to_html, to_svg
from symphony9_env.render.theme import MARKS, fade
from tests.render.bounds import bounds, text_length

SVG = "{http://www.w3.org/2000/svg}"


def everything() -> Drawing:
    drawing = Drawing(100, 80, 'A "test" & <more>')
    drawing.add(Rectangle(0, 0, 100, 80, "#ffffff"))
    drawing.add(Rectangle(10, 10, 20, 20, "#ff0000", "#000000", 2, radius=4))
    drawing.add(Circle(60, 20, 10, "#00ff00"))
    drawing.add(Polygon([(10, 70), (30, 70), (20, 50)], "#0000ff", "#000000"))
    drawing.add(Line((50, 60), (90, 60), "#123456", 4))
    drawing.add(Text(50, 50, "a < b & c", 12, "#222222", "middle", bold=True, fit=30))
    return drawing


def test_svg_is_well_formed_and_escaped() -> None:
    root = ET.fromstring(to_svg(everything()))
    assert root.get("aria-label") == 'A "test" & <more>'
    assert root.get("viewBox") == "0 0 100 80"
    assert [child.tag.removeprefix(SVG) for child in root] == ["rect", "rect", "circle", "polygon", "line", "text"]
    (label,) = root.iter(f"{SVG}text")
    assert label.text == "a < b & c"
    assert float(label.get("textLength") or 0) <= 30
    assert ET.fromstring(to_html(everything())).get("style") == "max-width:100px"


def test_pixels_show_the_shapes_where_they_are() -> None:
    picture = to_array(everything())
    assert picture.shape == (80, 100, 3)
    assert picture.dtype == np.uint8
    assert picture[20, 20].tolist() == [255, 0, 0]
    assert picture[20, 60].tolist() == [0, 255, 0]
    assert picture[65, 20].tolist() == [0, 0, 255]
    assert picture[60, 70].tolist() == [0x12, 0x34, 0x56]
    assert picture[40, 95].tolist() == [255, 255, 255]


def test_edges_are_smooth_and_pictures_reproducible() -> None:
    picture = to_array(everything())
    around = picture[8:33, 48:73].reshape(-1, 3)  # the circle: between green and white there are shades
    assert len(np.unique(around, axis=0)) > 4
    assert np.array_equal(picture, to_array(everything()))


def test_a_png_is_one() -> None:
    assert to_png(everything()).startswith(b"\x89PNG")


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("text", ["player_0", "different colours of own compositions", "WWWWWWW", "$12 with $8", "×19"])
def test_words_are_made_to_fit(text: str, bold: bool) -> None:
    label = Text(0, 20, text, 14, "#000000", "start", bold, fit=40)
    assert text_length(label) <= 40
    assert text_width(text, label.fitted_size, bold) <= 40.001
    left, _, right, _ = bounds(label)
    assert right - left <= 40.001


@pytest.mark.parametrize("text", ["player_0", "different colours of own compositions", "Career tracks", "0123456789"])
def test_widths_are_near_those_of_a_real_font(text: str) -> None:
    assert text_length(Text(0, 20, text, 14, "#000000")) == pytest.approx(text_width(text, 14), rel=0.1)


def test_words_are_drawn_where_they_are_anchored() -> None:
    for anchor, start, end in (("start", 50, 100), ("middle", 25, 75), ("end", 0, 50)):
        for bold in (False, True):
            drawing = Drawing(100, 40)
            drawing.add(Text(50, 30, "mmmm", 14, "#000000", anchor, bold))  # type: ignore[arg-type]
            dark = np.flatnonzero((to_array(drawing) < 128).any(axis=(0, 2)))
            assert start - 1 <= dark.min()
            assert dark.max() <= end + 1
            length = text_length(Text(50, 30, "mmmm", 14, "#000000", bold=bold))
            assert dark.max() - dark.min() == pytest.approx(length, abs=4)


def test_colours_of_musicians_differ_for_colour_blind_eyes_or_shapes_do() -> None:
    assert len({mark.shape for mark in MARKS.values()}) == len(MARKS)
    assert len({mark.code for mark in MARKS.values()}) == len(MARKS)
    assert fade("#102030", 0) == "#102030"
    assert fade("#102030", 1, "#ffffff") == "#ffffff"
