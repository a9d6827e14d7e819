"""The game log: what its lines say, and that they contain all public payments and cubes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from symphony9_env.actions import number
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import EventBuffer, opening_events, see
from symphony9_env.rules.state import game_at
from symphony9_env.views.game_log import LogLine, log_lines
from tests.scenarios import at_concert, bids, deal, legal, random_legal


def play_and_log(env: RawEnv, *moves: str, seat: int | None = None) -> list[LogLine]:
    """Play moves by name; return the lines that they add to a seat's log."""
    buffer = env.event_buffer = EventBuffer()
    lines = []
    for name in moves:
        env.step(number(name))
        lines += log_lines(see(buffer.read(), seat))
    return lines


def texts(lines: list[LogLine], kind: str) -> list[tuple[int | None, str]]:
    return [(line["seat"], line["text"]) for line in lines if line["kind"] == kind]


def test_the_log_covers_a_round_from_the_first_cube_to_the_concert() -> None:
    env = deal(3, start_player=1, budget=[2, 2, 2, 2, 0, 0])
    assert log_lines(see(opening_events(env.states), 0)) == [
        {"kind": "round", "seat": None, "text": "Round 1"},
        {"kind": "move", "seat": 1, "text": "is the start player"},
    ]
    lines = play_and_log(
        env, *["take bach"] * 2, *["take handel"] * 2, *["take mozart"] * 2, "sell 4", "take bach", "pass", "pass"
    )
    assert texts(lines, "move")[0] == (1, "takes a Bach cube")
    assert texts(lines, "move")[6:] == [
        (1, "sells furniture for $4"),
        (1, "pays $4 for a Bach cube"),
        (2, "buys no cube for $4"),
        (0, "buys no cube for $4"),
    ]
    assert texts(lines, "income") == []  # the lines of the moves contain the sale and the price
    lines = play_and_log(env, "pass", "pass", "pass")
    assert len(texts(lines, "composition")) >= 3
    assert texts(lines, "token") == [(None, "The royal budget: +2")]


@pytest.mark.parametrize("seat", [None, 0, 1, 2, 3])
def test_contributions_appear_only_when_the_hands_open(seat: int | None) -> None:
    env = at_concert(4, cubes={0: {"handel": 2}, 1: {}, 2: {}, 3: {}}, budget=[0, 2, 2, 2, 2, 0])
    lines = play_and_log(env, "bid 2", "bid 4 with 4", "bid 3", seat=seat)
    assert {line["text"] for line in lines} == {"closes a hand"}
    lines = play_and_log(env, "bid 3", seat=seat)
    given = dict(texts(lines, "gave"))
    assert sorted(given.values()) == ["gave $2", "gave $3", "gave $3", "gave $4, furniture for $4 in it"]
    (concert,) = texts(lines, "concert")
    assert re.fullmatch(r"Total 12: a medium class concert by \w+, \w+ and \w+", concert[1])


def test_the_medium_bonus_is_named_in_the_line_of_the_income() -> None:
    env = at_concert(4, cubes={0: {"handel": 1}, 1: {"haydn": 2}}, budget=[0, 0, 2, 2, 2, 2])
    bids(env, 3, 5, 3)
    assert texts(play_and_log(env, "bid 2"), "income") == [
        (1, "receives $13 ($5 of it as the medium class bonus), gives up a cube of Haydn")
    ]
    env = at_concert(4, cubes={0: {"haydn": 1}}, budget=[0, 0, 2, 2, 2, 2])
    bids(env, 3, 5, 3)
    assert texts(play_and_log(env, "bid 2"), "income") == [
        (0, "receives $4, gives up a cube of Haydn"),
        (1, "receives $5 (as the medium class bonus)"),
    ]


def test_a_failed_concert_is_logged_with_its_reason() -> None:
    env = at_concert(4, budget=[0, 2, 2, 2, 2, 0])
    bids(env, 0, 0, 0)
    lines = play_and_log(env, "bid 0")
    assert texts(lines, "concert") == [(None, "Total 0: too little, the concert fails; who gave least is to blame")]
    assert texts(lines, "income") == []


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_everybody_s_cubes_can_be_counted_from_the_log(num_players: int) -> None:
    """The bot's cubes too."""
    policy = random_legal(np.random.default_rng(num_players))
    for seed in range(6):
        env = RawEnv(num_players=num_players)
        env.reset(seed=seed)
        held = [int(game_at(env.states).earlier_cubes[board].sum()) for board in range(4)]
        while not all(env.terminations.values()):
            for line in play_and_log(env, policy(env, legal(env))):
                count_cubes(line, held, num_players)
            game = game_at(env.states)
            assert held == [int(game.earlier_cubes[board].sum() + game.new_cubes[board].sum()) for board in range(4)]


def count_cubes(line: LogLine, held: list[int], num_players: int) -> None:
    seat, text = line["seat"], line["text"]
    if seat is None:
        return
    if re.search(r"(takes|pays \$\d for) a \w+ cube", text):
        held[num_players if "for the bot" in text else seat] += 1
    elif found := re.search(r"gives up (\d) cube", text):
        held[seat] -= int(found[1])
    elif "gives up a cube of " in text:
        held[seat] -= len(text.partition("gives up a cube of ")[2].split(" and "))
    elif "gives up a " in text:
        held[seat] -= 1


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_everybody_s_money_can_be_counted_from_the_log(num_players: int) -> None:
    """A reader with a perfect memory of the log knows what the ledger shows."""
    policy = random_legal(np.random.default_rng(num_players))
    for seed in range(6):
        env = RawEnv(num_players=num_players, discussion=True)
        env.reset(seed=seed)
        counted = [20] * num_players
        offered = [0] * num_players  # coins in the hands of the current concert
        while not all(env.terminations.values()):
            for line in play_and_log(env, policy(env, legal(env))):
                count_money(line, counted, offered)
            assert counted == game_at(env.states).money[:num_players].tolist()


def count_money(line: LogLine, counted: list[int], offered: list[int]) -> None:
    seat, text = line["seat"], line["text"]
    if line["kind"] == "gave" and seat is not None and seat < len(counted):
        coins, *furniture = (int(amount) for amount in re.findall(r"\$(\d+)", text))
        offered[seat] = coins - sum(furniture)
    elif line["kind"] == "concert" and "fails" not in text:
        counted[:] = [money - paid for money, paid in zip(counted, offered, strict=True)]
    elif seat is not None and (found := re.search(r"(sells furniture for|receives|pays) \$(\d+)", text)):
        counted[seat] += int(found[2]) * (-1 if found[1] == "pays" else 1)
