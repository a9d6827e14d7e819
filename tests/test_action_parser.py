"""Actions out of free text."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symphony9_env.action_parser import parse_action, parse_speech
from symphony9_env.actions import NAMES, number

TAKES = tuple(range(6))
BIDS = tuple(range(number("bid 0"), number("announce 0")))
SALES = (number("sell 4"), number("sell 6"), number("sell 8"))


@pytest.mark.parametrize("action", range(len(NAMES)))
@pytest.mark.parametrize("form", ["{n}", "{name}", "[{n}]", "[{name}]", "[{n} {name}]", "I think.\n\n[{name}]"])
def test_every_action_is_read_by_number_and_by_name(action: int, form: str) -> None:
    assert parse_action(form.format(n=action, name=NAMES[action]), range(len(NAMES))) == action


@pytest.mark.parametrize(
    ("text", "legal", "name"),
    [
        ("Take MOZART!", TAKES, "take mozart"),
        ("**take_mozart**", TAKES, "take mozart"),
        ("[Bid $4]", BIDS, "bid 4"),
        ("I will bid 6 with my $4 furniture.", BIDS, "bid 6 with 4"),
        ("[contribute 6 with the 6 token]", BIDS, "bid 6 with 6"),
        ("I'd say [take bach], but no: [take haydn]", TAKES, "take haydn"),
        ("sell the 8", (*TAKES, *SALES), "sell 8"),
        ("[announce 4: who joins me?]", (number("announce 4"), number("pass")), "announce 4"),
        ("[pass]", (number("pass"), *SALES), "pass"),
    ],
)
def test_ways_of_saying_it(text: str, legal: tuple[int, ...], name: str) -> None:
    assert NAMES[parse_action(text, legal)] == name


@pytest.mark.parametrize(
    "text",
    ["9" * 5000, "[" + "9" * 100_000 + "]", "[" * 300_000, "[a" * 150_000, "-1 " * 100_000, "take " * 60_000],
    ids=lambda text: text[:6],
)
def test_long_replies_are_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(ValueError, match="is no legal action; answer with one in square brackets") as error:
        parse_action(text, legal=(0, 3))
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "text",
    ["", "mozart", "take mozart or take bach", "take schubert", "[99]", "-1", "3.5", "[take mozart] [fly]", "37", "٣"],
)
def test_what_means_no_legal_action_or_two_is_refused_with_what_is_legal(text: str) -> None:
    with pytest.raises(ValueError, match="0 take handel, 1 take bach, 3 take mozart"):
        parse_action(text, (0, 1, 3))


def test_a_long_reply_is_not_repeated_whole() -> None:
    with pytest.raises(ValueError, match="…") as refused:
        parse_action("x" * 10_000, (0,))
    assert len(str(refused.value)) < 300


def test_words_of_an_announcement() -> None:
    assert parse_speech("thinking [announce 4:  who \n joins me? ]") == "who joins me?"
    assert parse_speech("[announce 4]") == parse_speech("announce 4: no brackets") == ""


@given(st.text(max_size=200))
def test_any_text_gives_a_legal_action_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert parse_action(text, TAKES) in TAKES
