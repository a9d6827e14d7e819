"""A policy that thinks finds what its lines show, and its compiled network computes what the NumPy one does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from symphony9_env import BatchedGames, agents
from symphony9_env.actions import NAMES, NUM_ACTIONS_DISCUSSION
from symphony9_env.agents import AgentFailed, Card, inference, save_policy
from symphony9_env.agents.base import StoredPositions
from symphony9_env.agents.message import AgentMessage
from symphony9_env.agents.networks import make_network
from symphony9_env.agents.packing import pack_network
from symphony9_env.agents.think import ThinkAgent, ThinkSettings
from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import SELL_LAST, game_at
from symphony9_env.views import observation_size
from tests.agents.test_protocol import random_weights
from tests.scenarios import at_concert, deal, set_state

CARDS = [
    Card(num_players=(2, 3, 4), hidden=(), ledger=True),
    Card(num_players=(2, 3, 4), hidden=(40, 70, 33), activation="relu"),
    Card(num_players=(2, 3, 4), hidden=(8,), ledger=True),
    Card(num_players=(2, 3, 4), hidden=(96, 96, 128), network="musicians", activation="relu", ledger=True),
    Card(num_players=(2, 3, 4), hidden=(160, 50, 224), network="musicians", activation="relu"),
    Card(num_players=(2, 3, 4), hidden=(20, 70, 33), network="musicians", activation="tanh", ledger=True),
]


def infer(card: Card, weights: dict[str, np.ndarray], games: BatchedGames, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    network = pack_network(card, weights)
    workspace = inference.new_workspace(int(network[0][inference.LIST_SIZE]))
    logits = np.empty((len(rows), NUM_ACTIONS_DISCUSSION), np.float32)
    values = np.empty(len(rows), np.float32)
    inference.infer_rows(network, workspace, games.states, rows, np.uint64(0), logits, np.empty(len(rows)), values)
    return logits, values


def middle_of_games(num_players: int, ledger: bool = False) -> BatchedGames:
    games = BatchedGames(40, num_players=num_players, ledger=ledger, seed=3)
    for number in range(90):
        games.step(games.sample_actions(rows := np.arange(40)[: 40 - number % 30]), rows)
    return games


@pytest.mark.parametrize("card", CARDS, ids=lambda card: f"{card.network}-{card.activation}-{len(card.hidden)}")
def test_the_compiled_network_agrees_with_the_numpy_one(card: Card) -> None:
    weights = random_weights(card)
    network = make_network(card.network, card.hidden, card.activation, card.ledger, weights)
    for num_players in (2, 4):
        games, rows = middle_of_games(num_players, card.ledger), np.arange(40)
        logits, values = infer(card, weights, games, rows)
        legal = np.isfinite(logits)
        assert (legal[:, : games.action_mask.shape[1]] == games.action_mask).all()
        expected = network.logits(games.observation)
        assert np.allclose(logits[legal], expected[legal], rtol=1e-4, atol=1e-3)
        value = network.value(games.observation)
        assert value is not None
        assert np.allclose(values, value, rtol=1e-4, atol=1e-3)


def test_what_the_network_computes_for_a_game_does_not_depend_on_other_games() -> None:
    card = CARDS[3]
    weights, games, rows = random_weights(card), middle_of_games(3), np.arange(40)
    together = infer(card, weights, games, rows)
    for row in rows:
        alone = infer(card, weights, games, rows[row : row + 1])
        assert [part[0].tobytes() for part in alone] == [part[row].tobytes() for part in together]


def test_the_last_decision_is_optimal() -> None:
    """The $8 token is worth 4 points; sold, its $8 are worth only 2, at $3 a point."""
    env = deal(2)
    set_state(env, phase=SELL_LAST, pending=1, round_index=5)
    game = game_at(env.states)
    game.money[:2] = [0, 35]  # 11 points: 12 win, 8 + 2 lose
    game.furniture[:2] = [[0, 0, 1], [0, 0, 0]]
    game.compositions[0] = [2, 0, 0, 0, 0, 0]  # 8 points by tile 1A
    set_state(env)
    for seed in range(5):
        agent = agents.make("think:8", seed=seed)
        assert isinstance(agent, ThinkAgent)
        assert NAMES[agent.choose(env)] == "pass"
        found = agent.analyze(env.states, 0)
        assert dict(zip(found.actions.tolist(), found.values.tolist(), strict=True)) == {18: 1.0, 21: -1.0}
        assert found.probabilities[18] > 0.99 * (1 - found.probabilities[21])
        assert found.value == pytest.approx(found.probabilities[18] - found.probabilities[21])


def test_a_single_choice_needs_no_lines() -> None:
    env = at_concert()
    game_at(env.states).money[:] = 0
    game_at(env.states).furniture[:] = 0
    set_state(env)
    agent = agents.make("think:1000000", seed=1)
    assert isinstance(agent, ThinkAgent)
    assert NAMES[agent.choose(env)] == "bid 0"
    assert agent.analyze(env.states, 0).num_lines.tolist() == [0]


def test_most_lines_are_spent_on_the_best_candidates() -> None:
    agent = ThinkAgent(240, seed=1, settings=ThinkSettings(max_candidates=5))
    games = BatchedGames(6, num_players=4, seed=1)
    for row in range(6):
        found = agent.analyze(games.states, row)
        assert found.num_lines.tolist() == sorted(found.num_lines.tolist(), reverse=True)
        assert len(set(found.actions.tolist())) == len(found.actions) == 5
        assert 200 <= found.num_lines.sum() <= 240
        assert found.num_lines[0] > 2 * found.num_lines[-1]
        assert agent.decide(games, np.array([row]))[0] == found.actions[0]


def test_with_one_stage_every_candidate_gets_as_many_lines() -> None:
    agent = ThinkAgent(60, seed=1, settings=ThinkSettings(max_candidates=5, max_stages=1))
    found = agent.analyze(BatchedGames(1, num_players=4, seed=1).states, 0)
    assert found.num_lines.tolist() == [12] * 5


def test_lines_of_six_rounds_end_with_the_game() -> None:
    agent = ThinkAgent(40, seed=1, settings=ThinkSettings(num_rounds=6, max_candidates=4))
    found = agent.analyze(deal(2).states, 0)
    totals = found.values * found.num_lines
    assert totals == pytest.approx(totals.round())  # every line is won, lost or tied


def test_the_improved_policy_prefers_what_has_a_higher_value_and_is_a_distribution_over_legal_actions() -> None:
    agent = ThinkAgent(120, seed=1)
    games = BatchedGames(8, num_players=2, seed=1)
    rows = np.arange(8)
    prior, _ = agents.make("policy", seed=0).for_players(2).evaluate(games.states, rows)  # type: ignore[attr-defined]
    improved, values = agent.evaluate(games.states, rows)
    assert improved.sum(axis=1) == pytest.approx(1)
    assert not improved[:, : games.action_mask.shape[1]][games.action_mask == 0].any()
    for row in rows:
        found = agent.analyze(games.states, int(row))
        gains = improved[row, found.actions] / prior[row, found.actions]
        assert (np.argsort(-gains) == np.argsort(-found.values)).all()
        assert found.values.min() <= values[row] <= found.values.max()


def test_a_rival_that_is_known_may_be_any_agent(tmp_path: Path) -> None:
    """A function of a message is asked in simulated games, too, with the events that its seat would see there."""
    (tmp_path / "mine.py").write_text("def decide(message):\n    return min(message['legal'], key=int)\n")
    env = deal(2)
    name = f"think:12@{tmp_path / 'mine.py'}:decide"
    agent = agents.make(name, seed=1)
    assert agent.name == name
    for _ in range(40):
        action = agent.choose(env) if env.deciding_seat == 0 else min(np.flatnonzero(env.last()[0]["action_mask"]))
        env.step(int(action))


def test_the_label_of_a_known_rival_is_not_part_of_the_name() -> None:
    """`spec` must make the same agent again."""
    agent = agents.make("mine=think:4@x=policy", seed=1)
    assert (agent.name, agent.spec) == ("mine", "think:4@policy")


@pytest.mark.parametrize("ledger", [False, True])
def test_a_rival_that_is_asked_sees_the_ledger_in_lines_if_it_does_in_the_game(ledger: bool) -> None:
    seen = set()

    def watch(message: AgentMessage) -> str:
        seen.add(len(message["observation"]))
        return min(message["legal"], key=int)

    env = RawEnv(num_players=2, ledger=ledger)
    env.reset(seed=1)
    agents.register("watching_rival", watch)
    agents.make("think:4@watching_rival", seed=1).choose(env)
    assert seen == {observation_size(ledger)}


def test_a_rival_that_fails_in_a_line_is_named() -> None:
    agents.register("broken_rival", lambda message: "nothing")
    with pytest.raises(AgentFailed, match="agent 'broken_rival' gave no legal action") as failure:
        agents.make("think:4@broken_rival", seed=1).choose(deal(2))
    assert failure.value.row == 0


def test_a_policy_without_a_value_thinks_to_the_end_of_the_game(tmp_path: Path) -> None:
    card = CARDS[2]
    whole = random_weights(card)
    save_policy(tmp_path / "p.safetensors", card, {n: w for n, w in whole.items() if not n.startswith("value.")})
    agent = agents.make(f"think:30:{tmp_path / 'p.safetensors'}", seed=1)
    assert isinstance(agent, ThinkAgent)
    found = agent.analyze(deal(2).states, 0)
    assert set((found.values * found.num_lines).tolist()) <= {float(total) for total in range(-30, 31)}


def test_a_policy_refuses_other_player_counts(tmp_path: Path) -> None:
    card = Card(num_players=(3,), hidden=(4,))
    save_policy(tmp_path / "p.safetensors", card, random_weights(card))
    agent = agents.make(f"think:5:{tmp_path / 'p.safetensors'}", seed=1)
    with pytest.raises(ValueError, match="is for 3 players; this game has 2"):
        agent.choose(deal(2))


def test_the_fingerprint_changes_with_the_policies(tmp_path: Path) -> None:
    card = CARDS[2]
    path = tmp_path / "p.safetensors"
    seen = set()
    for seed in (0, 1):
        save_policy(path, card, random_weights(card, seed))
        for name in (f"think:5:{path}", f"think:5@{path}", "think:5", "think:6"):
            seen.add(agents.make(name, seed=1).fingerprint(2))
    assert len(seen) == 6


def test_thinking_beats_the_policy_that_guides_it() -> None:
    """Twenty games in different seats; the probability of losing most of them is below one in a thousand."""
    from symphony9_env.arena.matches import win_rate_against
    from symphony9_env.options import Variant

    players = agents.make("think:48", seed=1), agents.make("policy", seed=2)
    assert win_rate_against(*players, Variant(num_players=2), 20, seed=9).value > 0.55


def test_positions_without_moves_can_be_thought_about() -> None:
    env = deal(3)
    row = np.zeros(1, np.int64)
    for name in ("think:4", "think:4@search:2"):
        agent = agents.make(name, seed=1)
        assert agent.decide(StoredPositions.of(env.states), row) == agent.choose(env)
