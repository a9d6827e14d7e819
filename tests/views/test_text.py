"""The text view: it contains what a player needs to know."""

from __future__ import annotations

import numpy as np
import pytest

from symphony9_env.actions import NAMES
from symphony9_env.rules.state import DECISIONS
from symphony9_env.views import describe
from symphony9_env.views.text import QUESTIONS
from tests.scenarios import at_concert, bids, deal, decision, finish, legal, play, play_until, see


def test_every_decision_has_a_question() -> None:
    assert set(QUESTIONS) == set(DECISIONS)


def test_the_text_names_everything_a_player_needs() -> None:
    env = deal(2, discussion=True)
    play(env, "player_0 sell 6")
    play_until(env, "announce")
    play(env, "player_0 announce 3", "player_1 pass", "player_0 bid 7 with 4", "player_1 bid 0")
    play_until(env, "buy_4")
    text = describe(see(env, 0))
    for part in (
        "2 players. Round 2 of 6. You are player_0. Start player: player_1.",
        "low 7-10 (income $4 per cube), medium 11-13 (income $5 per cube), high 14-16 (income $9 per cube). Each",
        "player_0 $7 (including the $4 furniture)",
        "The bot's tile: 1/3/5.",
        "handel",
        "own furniture sold",
        "Your furniture: $8 (4 points).",
        "Waiting for player_1 (buy_4).",
    ):
        assert part in text, text
    assert "Your decision" in describe(see(env, 1))


def test_the_legal_actions_are_named_with_their_numbers_for_the_deciding_seat_only() -> None:
    env = deal()
    play_until(env, "bid")
    text = describe(see(env, 0))
    for name in legal(env):
        assert f"{NAMES.index(name)} {name}" in text
    assert "Legal actions" not in describe(see(env, 1))


def test_announcements_and_closed_hands_are_named_without_their_contents() -> None:
    env = deal(discussion=True)
    play_until(env, "announce")
    play(env, "announce 7", "pass", "announce 0", "pass", "bid 2")
    text = describe(see(env, 1))
    assert "Announced: player_2 $0, player_0 $7." in text
    assert "Closed hands: player_0." in text
    assert "Your closed hand: $2." in describe(see(env, 0))


def test_a_kept_cube_is_named_while_others_choose() -> None:
    env = at_concert(cubes={0: {"schubert": 1}, 1: {"schubert": 1}}, budget=[0, 0, 2, 2, 2, 2])
    bids(env, 2, 2, 2, 2)
    play(env, "player_0 keep schubert")
    assert decision(env) == ("player_1", "keep")
    assert "Cubes kept as low class bonus: player_0 schubert." in describe(see(env, 1))


def test_the_end_shows_the_score_sheet_and_who_won() -> None:
    env = deal(3)
    finish(env, np.random.default_rng(1))
    text = describe(see(env, 1))
    assert "final score" in text
    assert any(ending in text for ending in ("wins.", "share the win."))
    for agent, info in env.infos.items():
        assert f"{round(info['score'], 2):g}" in next(
            line for line in text.splitlines() if line.startswith(agent) and "+" not in line
        )


def test_a_seat_that_is_not_there_is_refused() -> None:
    env = deal(2)
    with pytest.raises(ValueError, match="seat=2; allowed: 0 to 1"):
        see(env, 2)


def test_the_ledger_is_in_the_text_only_if_asked_for() -> None:
    env = deal()
    play_until(env, "bid")
    bids(env, 1)
    assert "has $20" not in describe(see(env, 1))
    assert "has $20" in describe(see(env, 1, ledger=True))
