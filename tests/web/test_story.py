"""The log tells what happened, and the scene what there is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from symphony9_env import records
from symphony9_env.actions import number
from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import game_at
from symphony9_env.views import seat_view
from symphony9_env.web.scene import choices, scene, setting
from symphony9_env.web.story import Event, opening, tell
from tests.scenarios import at_concert, bids, finish, legal, random_legal, table

GAMES = sorted((Path(__file__).parent.parent / "records").glob("*.json"))


def told(env: RawEnv, *moves: str) -> list[Event]:
    """The lines that these moves add."""
    lines = []
    for name in moves:
        before = env.states.copy()
        env.step(number(name))
        lines += tell(before, number(name), env.states)
    return lines


def texts(lines: list[Event], kind: str) -> list[tuple[int | None, str]]:
    return [(line["seat"], line["text"]) for line in lines if line["kind"] == kind]


def test_a_round_is_told_from_the_first_cube_to_the_concert() -> None:
    env = table(3, start_player=1, budget=[2, 2, 2, 2, 0, 0])
    assert opening(env.states) == [
        {"kind": "round", "seat": None, "text": "Round 1"},
        {"kind": "move", "seat": 1, "text": "is the start player"},
    ]
    lines = told(
        env, *["take bach"] * 2, *["take handel"] * 2, *["take mozart"] * 2, "sell 4", "take bach", "pass", "pass"
    )
    assert texts(lines, "move")[0] == (1, "takes a Bach cube")
    assert texts(lines, "move")[6:] == [
        (1, "sells furniture for $4"),
        (1, "pays $4 for a Bach cube"),
        (2, "buys no cube for $4"),
        (0, "buys no cube for $4"),
    ]
    assert texts(lines, "income") == []  # the sale and the price are told by the moves
    lines = told(env, "pass", "pass", "pass")
    assert len(texts(lines, "composition")) >= 3
    assert texts(lines, "token") == [(None, "The royal budget: +2")]


def test_a_concert_is_told_when_the_hands_open() -> None:
    env = at_concert(4, cubes={0: {"handel": 2}, 1: {}, 2: {}, 3: {}}, budget=[0, 2, 2, 2, 2, 0])
    lines = told(env, "bid 2", "bid 4 with 4", "bid 3")
    assert {line["text"] for line in lines} == {"closes a hand"}
    lines = told(env, "bid 3")
    given = dict(texts(lines, "gave"))
    assert sorted(given.values()) == ["gave $2", "gave $3", "gave $3", "gave $4, furniture for $4 in it"]
    (concert,) = texts(lines, "concert")
    assert re.fullmatch(r"Total 12: a medium class concert by \w+, \w+ and \w+", concert[1])


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_all_cubes_that_come_and_go_are_told(num_players: int) -> None:
    """From the lines alone everybody's cubes can be counted, the bot's too."""
    rng = np.random.default_rng(num_players)
    policy = random_legal(rng)
    for seed in range(6):
        env = RawEnv(num_players=num_players)
        env.reset(seed=seed)
        held = [int(game_at(env.states).earlier_cubes[board].sum()) for board in range(4)]
        while not all(env.terminations.values()):
            for line in told(env, policy(env, legal(env))):
                seat, text = line["seat"], line["text"]
                if seat is None:
                    continue
                if re.search(r"(takes|pays \$\d for) a \w+ cube", text):
                    held[num_players if "for the bot" in text else seat] += 1
                elif found := re.search(r"gives up (\d) cube", text):
                    held[seat] -= int(found[1])
                elif "gives up a cube of " in text:
                    held[seat] -= len(text.partition("gives up a cube of ")[2].split(" and "))
                elif "gives up a " in text:
                    held[seat] -= 1
            game = game_at(env.states)
            assert held == [int(game.earlier_cubes[board].sum() + game.new_cubes[board].sum()) for board in range(4)]


def test_a_failure_is_told_with_its_reason() -> None:
    env = at_concert(4, budget=[0, 2, 2, 2, 2, 0])
    bids(env, 0, 0, 0)
    lines = told(env, "bid 0")
    assert texts(lines, "concert") == [(None, "Total 0: too little, the concert fails; who gave least is to blame")]
    assert texts(lines, "income") == []


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_all_money_that_changes_hands_is_told(num_players: int) -> None:
    """From the lines alone everybody's money can be kept count of: what a perfect memory does."""
    rng = np.random.default_rng(num_players)
    for seed in range(6):
        env = RawEnv(num_players=num_players, discussion=True)
        env.reset(seed=seed)
        counted = [20] * num_players
        gave = [0] * num_players
        policy = random_legal(rng)
        while not all(env.terminations.values()):
            before = env.states.copy()
            name = policy(env, legal(env))
            env.step(number(name))
            for line in tell(before, number(name), env.states):
                seat, text = line["seat"], line["text"]
                if line["kind"] == "gave" and seat is not None and seat < num_players:
                    coins, *furniture = (int(amount) for amount in re.findall(r"\$(\d+)", text))
                    gave[seat] = coins - sum(furniture)
                elif line["kind"] == "concert" and "fails" not in text:
                    counted = [money - paid for money, paid in zip(counted, gave, strict=True)]
                elif seat is not None and (found := re.search(r"(sells furniture for|receives|pays) \$(\d+)", text)):
                    counted[seat] += int(found[2]) * (-1 if found[1] == "pays" else 1)
            assert counted == game_at(env.states).money[:num_players].tolist()


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.stem)
def test_every_choice_of_whole_games_can_be_shown(path: Path) -> None:
    for env in records.replay(records.load(path)):
        view = seat_view(env.states, 0, env.deciding_seat)
        shown = choices(view)
        assert [choice["action"] for choice in shown] == list(view.legal)
        assert all(choice["label"] for choice in shown)
        table = scene(view)
        assert [board["seat"] for board in table["boards"]] == list(range(len(view.boards)))
        fixed = setting(view)
        for musician, now in zip(fixed["musicians"], table["musicians"], strict=True):
            assert musician["counts"]
            covered = now["ahead"][-1][0] if now["ahead"] else 0
            assert covered == now["cubes_left"]


def test_what_a_cube_does_to_a_reputation_is_said_before_it_is_taken() -> None:
    """The note of a choice against what the rules make of it, over whole games."""
    rng = np.random.default_rng(0)
    checked = 0
    for seed in range(20):
        env = RawEnv(num_players=4)
        env.reset(seed=seed)
        while not all(env.terminations.values()):
            view = seat_view(env.states, 0, env.deciding_seat)
            choice = rng.choice(np.array(choices(view), dtype=object))
            before = [musician.reputation for musician in view.musicians]
            env.step(choice["action"])
            if choice["kind"] == "take" and view.decision == "take" and view.pending == 2:
                after = int(env.states["reputation"][0][choice["row"]])
                found = re.search(r"reputation (\d+) → (\d+)", choice["note"])
                expected = (int(found[1]), int(found[2])) if found else (before[choice["row"]],) * 2
                assert (before[choice["row"]], after) == expected
                checked += found is not None
    assert checked > 20


def test_finished_games_have_a_score_sheet_and_others_have_none() -> None:
    env = table(3)
    assert scene(seat_view(env.states, 0, 0))["sheet"] is None
    finish(env, np.random.default_rng(0))
    sheet = scene(seat_view(env.states, 0, 0))["sheet"]
    assert [line["total"] for line in sheet] == env.record()["result"]["scores"]
