"""Corrections for luck: every event's has an expectation of zero, by enumeration and in whole games."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from symphony9_env import agents
from symphony9_env.agents import Agent, Card, save_policy
from symphony9_env.agents.policy import PolicyAgent, shipped_path
from symphony9_env.arena import luck
from symphony9_env.arena.luck import ACTIONS, BOT_TILES, KINDS, TOKENS, Luck
from symphony9_env.arena.matches import PlayedGame, Schedule, play
from symphony9_env.components import BUDGET_TOKENS
from symphony9_env.game_replay import deal_again, replay_moves
from symphony9_env.options import Variant
from symphony9_env.rules.game import play as play_action
from symphony9_env.rules.state import CONTRIBUTE, States
from symphony9_env.scores import score_sheet
from symphony9_env.views import resample
from tests.agents.test_protocol import random_weights


def play_games(names: list[str], num_players: int, num_games: int) -> tuple[list[PlayedGame], list[Agent]]:
    players = [agents.make(name, seed=number) for number, name in enumerate(names)]
    schedule = Schedule(2, num_players, 3, "first-against-rest")
    games = [schedule.game(number) for number in range(num_games)]
    return play(games, players, Variant(num_players=num_players)), players


def find_positions(played: PlayedGame, kind: str) -> list[tuple[States, States, int]]:
    """Return the positions before and after each move that sets off an event of this kind, and the moves."""
    game, found = deal_again(played.final, 0), []
    before = game.copy()
    for _, action, events in replay_moves(game, played.moves):
        if kind in {event.kind for event in events}:
            found.append((before, game.copy(), action))
        before = game.copy()
    return found


def correct(estimator: Luck, outcomes: list[tuple[States, float]]) -> np.ndarray:
    values = estimator.evaluate(np.concatenate([states for states, _ in outcomes]))
    return np.asarray(np.array([weight for _, weight in outcomes]) @ values)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_expected_correction_of_a_token_is_zero(num_players: int) -> None:
    games, players = play_games(["planner", "random"], num_players, 1)
    estimator = Luck(players, num_players)
    for _, after, _ in find_positions(games[0], "budget_revealed"):
        round_index = int(after["round_index"][0])
        left = Counter(BUDGET_TOKENS) - Counter(after["budget"][0, :round_index].tolist())
        expected = np.zeros(num_players)
        for token, count in left.items():
            states = after.copy()
            states["budget"][0, round_index] = token
            expected += count / left.total() * correct(estimator, list(luck._list_tokens(states)))
        np.testing.assert_allclose(expected, 0, atol=1e-9)


def test_the_probabilities_of_tokens_are_those_of_the_rules() -> None:
    """The next token is drawn as resampling draws it."""
    games, _ = play_games(["planner", "random"], 3, 1)
    before, after, _ = find_positions(games[0], "budget_revealed")[3]
    rng = np.random.default_rng(0)
    drawn = Counter(int(resample(before, 0, rng)["budget"][0, 3]) for _ in range(4000))
    actual = int(after["budget"][0, 3])
    for states, weight in luck._list_tokens(after):
        token = int(states["budget"][0, 3])
        assert drawn[token] / 4000 == pytest.approx(weight + (token == actual), abs=0.03)


def test_the_expected_correction_of_a_bot_tile_is_zero() -> None:
    games, players = play_games(["planner", "random"], 2, 1)
    estimator = Luck(players, 2)
    is_changing = False
    for before, _, action in find_positions(games[0], "concert_resolved"):
        assert before["phase"][0] == CONTRIBUTE
        corrections = []
        for tile in before["bot_tile_set"][0]:
            states = before.copy()
            states["bot_tiles"][0, int(before["round_index"][0])] = tile
            corrections.append(correct(estimator, list(luck._list_bot_tiles(states, action))))
        np.testing.assert_allclose(np.mean(corrections, axis=0), 0, atol=1e-9)
        is_changing |= bool(np.abs(corrections).max() > 0.001)
    assert is_changing


def test_the_expected_correction_of_a_drawn_action_is_zero(tmp_path: Path) -> None:
    card = Card(num_players=(2,), hidden=(8,), temperature=0.7)
    save_policy(tmp_path / "p.safetensors", card, random_weights(card))
    games, players = play_games([str(tmp_path / "p.safetensors"), "random"], 2, 1)
    estimator = Luck(players, 2)
    probabilities = [luck.find_probabilities(agent, 2) for agent in players]
    game = deal_again(games[0].final, 0)
    for move in games[0].moves[:30]:
        draws = probabilities[games[0].game.agents[int(game["player"][0])]]
        assert draws is not None
        chances = draws(game)
        assert chances.sum() == pytest.approx(1)
        assert chances[move] > 0
        expected = sum(
            chances[action] * correct(estimator, list(luck._list_actions(game, action, chances)))
            for action in np.flatnonzero(chances).tolist()
        )
        np.testing.assert_allclose(expected, 0, atol=1e-9)
        play_action(game, 0, move)


def test_a_policy_draws_with_the_probabilities_that_are_assumed(tmp_path: Path) -> None:
    card = Card(num_players=(2,), hidden=(8,), temperature=0.5)
    save_policy(tmp_path / "p.safetensors", card, random_weights(card))
    games, _ = play_games(["planner", "random"], 2, 1)
    dealt = deal_again(games[0].final, 0)
    policies = [agents.make(str(tmp_path / "p.safetensors"), seed=seed) for seed in range(3000)]
    draws = luck.find_probabilities(policies[0], 2)
    assert draws is not None
    rows = np.zeros(1, np.int64)
    positions = agents.base.StoredPositions.of(dealt)
    counts = Counter(int(policy.decide(positions, rows)[0]) for policy in policies)
    for action, chance in enumerate(draws(dealt).tolist()):
        assert counts[action] / 3000 == pytest.approx(chance, abs=0.04)


def test_corrections_of_games_have_a_mean_of_zero() -> None:
    games, players = play_games(["random", "greedy"], 2, 120)
    corrections = Luck(players, 2).correct(games)
    assert corrections.shape == (120, 2, len(KINDS))
    for kind in (TOKENS, BOT_TILES, ACTIONS):
        own = corrections[:, 0, kind].reshape(-1, 2).mean(1)  # by deal
        assert own.std() > 0
        assert abs(own.mean()) < 4 * own.std() / np.sqrt(len(own))


def test_corrections_do_not_depend_on_the_other_games() -> None:
    games, players = play_games(["planner", "random"], 3, 6)
    estimator = Luck(players, 3)
    together = estimator.correct(games)
    for number, game in enumerate(games):
        np.testing.assert_array_equal(together[number], estimator.correct([game])[0])
    assert not together[:, :, BOT_TILES].any()


def test_the_value_of_a_finished_game_is_its_result() -> None:
    games, players = play_games(["planner", "random"], 4, 4)
    values = Luck(players, 4).evaluate(np.concatenate([game.final for game in games]))
    for game, value in zip(games, values, strict=True):
        assert value.tolist() == [line.win_share for line in score_sheet(game.final).values()]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("random", "corrected: it draws them with known probabilities"),
        ("planner", "not random"),
        ("policy", "not random"),
        ("search:20", "not corrected: their probabilities are unknown"),
        ("think:20", "not corrected: their probabilities are unknown"),
    ],
)
def test_it_says_whether_actions_are_corrected(name: str, said: str) -> None:
    assert luck.describe_actions(agents.make(name, seed=1), 2) == said


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_values_are_those_of_the_shipped_policy(num_players: int) -> None:
    games, players = play_games(["planner", "random"], num_players, 1)
    policy = PolicyAgent.load(shipped_path(num_players), 0)
    game = deal_again(games[0].final, 0)
    for move in games[0].moves[:20]:
        value = Luck(players, num_players).evaluate(game)[0, int(game["player"][0])]
        expected = policy.evaluate(game, np.zeros(1, np.int64))[1]
        assert expected is not None
        rate = (float(expected[0]) * (num_players - 1) + 1) / num_players
        assert value == pytest.approx(np.clip(rate, 0, 1), abs=1e-4)
        play_action(game, 0, move)
