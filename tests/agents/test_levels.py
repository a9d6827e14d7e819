"""Levels: names, the calibration that belongs to the shipped policies, how a policy is weakened, and strength."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from symphony9_env import BatchedGames, agents, observation_fields
from symphony9_env.agents import Card
from symphony9_env.agents.levels import (
    BLIND_SPOTS,
    LEVELS,
    NUM_LEVELS,
    SEAT_FIELDS,
    LevelAgent,
    find_neutral,
    list_columns,
    read_levels,
    weaken,
)
from symphony9_env.agents.networks import Floats, make_network
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.arena.matches import win_rate_against
from symphony9_env.arena.tournament import Tournament, list_recipes
from symphony9_env.options import Variant
from symphony9_env.rules.state import NUM_BOARDS, NUM_MUSICIANS
from symphony9_env.views import observation_size
from tests.agents.test_protocol import random_weights
from tools import calibrate_levels
from tools.calibrate_levels import CHECK_SEED, Calibration, fit_curve, place_levels, read_curve

PLAYER_COUNTS = (2, 3, 4)


def calibrated(num_players: int) -> Any:
    return read_levels()["players"][str(num_players)]


# Names.


def test_there_are_ten_levels_among_the_names_and_all_can_be_made() -> None:
    assert list(LEVELS) == [f"level:{number}" for number in range(1, 11)]
    assert set(LEVELS) < set(agents.names())
    for number, name in enumerate(LEVELS, 1):
        agent = agents.make(name, seed=7)
        assert isinstance(agent, LevelAgent)
        assert (agent.name, agent.spec, agent.seed, agent.level) == (name, name, 7, number)
    assert "level:1 to level:10" in agents.list_allowed()
    assert agents.make("easy=level:2").name == "easy"


@pytest.mark.parametrize(
    "name", ["level", "level:", "level:0", "level:11", "level:01", "level:-1", "level:1.5", "level:x", "level:3@policy"]
)
def test_other_levels_are_refused_and_run_no_code(name: str) -> None:
    assert not agents.is_external(name)
    assert not agents.find_policy_files(name)
    with pytest.raises(ValueError, match=rf"agent '{name}'; allowed: level:1 to level:10"):
        agents.make(name)


def test_a_name_that_only_begins_like_a_level_is_another_name() -> None:
    assert agents.is_external("levels:decide")
    with pytest.raises(ValueError, match="unknown agent 'levels'"):
        agents.make("levels")


# The calibration.


@pytest.mark.parametrize("num_players", PLAYER_COUNTS)
def test_the_calibration_belongs_to_the_shipped_policy(num_players: int) -> None:
    shipped = agents.make("policy", seed=0).fingerprint(num_players)
    assert calibrated(num_players)["policy"] == shipped, "run `python -m tools.calibrate_levels`"


@pytest.mark.parametrize("num_players", PLAYER_COUNTS)
def test_the_calibration_is_complete_and_levels_grow_stronger(num_players: int) -> None:
    entry = calibrated(num_players)
    levels = entry["levels"]
    assert [level["level"] for level in levels] == list(range(1, NUM_LEVELS + 1))
    weaknesses = [level["weakness"] for level in levels]
    assert weaknesses == sorted(set(weaknesses), reverse=True)
    assert weaknesses[-1] == 0
    ratings = [level["rating"] for level in levels]
    assert ratings == sorted(set(ratings))
    fields = {field.name: field for field in observation_fields(ledger=True)}
    neutral = entry["neutral"]
    assert {name for spot in BLIND_SPOTS for name in spot.fields} == set(neutral)
    for name, values in neutral.items():
        assert len(values) == len(list_columns(fields[name]))
        assert all(fields[name].low <= value <= fields[name].high for value in values)


@pytest.mark.parametrize("num_players", PLAYER_COUNTS)
def test_the_measured_steps_are_equal_within_thirty_per_cent(num_players: int) -> None:
    steps = np.array([level["step"] for level in calibrated(num_players)["levels"][1:]])
    assert np.abs(steps / steps.mean() - 1).max() <= 0.3


def test_the_tables_of_the_levels_are_current() -> None:
    text = calibrate_levels.PAGE.read_text(encoding="utf-8")
    assert calibrate_levels.regenerate(text, read_levels()) == text, "run `python -m tools.calibrate_levels`"
    command = ",".join(LEVELS) + f" --seed {CHECK_SEED} --num-players N"
    assert f"{command} --games {calibrate_levels.GAMES}" in text


def test_levels_are_placed_at_equal_steps_of_a_curve_that_is_fitted_to_all_rounds() -> None:
    """The rounds have different averages and noise; the true curve is one that the terms can describe."""
    rng = np.random.default_rng(0)
    curve = np.array([-900.0, -400.0, 100.0, 50.0, -50.0, 100.0])
    rounds = []
    for average in (1400, 1500, 1600):
        weaknesses = np.sort(rng.uniform(0, 1.2, 10))[::-1]
        rounds.append((weaknesses.tolist(), average + read_curve(curve, weaknesses) + rng.normal(0, 5, 10)))
    placed = place_levels(fit_curve(rounds), 1.2)
    assert placed == sorted(placed, reverse=True)
    assert (placed[0], placed[-1]) == (1.2, 0)
    steps = np.diff(read_curve(curve, np.array(placed)))
    assert steps == pytest.approx(steps.mean(), rel=0.15)


def test_the_levels_are_measured_in_the_games_of_a_tournament(tmp_path: Path) -> None:
    weaknesses = [level["weakness"] for level in calibrated(2)["levels"]]
    measured = Calibration(2, 90).measure(weaknesses)
    recipes = list_recipes(LEVELS, CHECK_SEED)
    with Tournament(recipes, Variant(num_players=2), str(tmp_path / "t"), seed=CHECK_SEED) as tournament:
        tournament.play(90)
        results = tournament.results()
    assert measured["games"] == results["games"] == 90
    assert measured["neutral"] == calibrated(2)["neutral"]
    for level in measured["levels"]:
        rating = results["agents"][f"level:{level['level']}"]["rating"]
        assert level["rating"] == pytest.approx(rating, abs=0.06)


# How a policy is weakened.


@pytest.mark.parametrize("num_players", PLAYER_COUNTS)
def test_the_highest_level_is_the_policy(num_players: int) -> None:
    games = BatchedGames(60, num_players=num_players, seed=2)
    rows = np.arange(60)
    for _ in range(50):
        games.step(games.sample_actions())
        chosen = agents.make("policy", seed=1).decide(games, rows)
        assert agents.make("level:10", seed=1).decide(games, rows).tolist() == chosen.tolist()


@pytest.mark.parametrize(("network", "hidden"), [("mlp", (16, 8)), ("musicians", (16, 8, 12))])
@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("weakness", [0.1, 0.3, 0.7, 1.2])
def test_a_weakened_network_sees_what_is_left_of_the_observation(
    network: str, hidden: tuple[int, ...], ledger: bool, weakness: float
) -> None:
    """The changed weights give the same logits and values as the plain ones on a changed observation."""
    card = Card(num_players=(2,), hidden=hidden, network=network, ledger=ledger, temperature=0.5)
    policy = PolicyAgent("own", card, random_weights(card), 3)
    rng = np.random.default_rng(4)
    observation = rng.random((20, observation_size(ledger))).astype(np.float32)
    neutral = find_neutral(rng.random(observation_size(True)), True)
    seen = observation.copy()
    for field in observation_fields(ledger):
        for spot in BLIND_SPOTS:
            if field.name in spot.fields:
                columns, attention = list_columns(field), spot.attention(weakness)
                values = np.array(neutral[field.name])[:, None]
                seen[:, columns] = values + attention * (observation[:, columns] - values)
    weaker = weaken(policy, weakness, neutral)
    assert weaker.card.temperature == pytest.approx(0.5 + 16 * weakness)
    assert (weaker.name, weaker.seed) == ("own", 3)
    assert not np.array_equal(seen, observation)
    for one, other in zip(_compute(weaker, observation), _compute(policy, seen), strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def _compute(policy: PolicyAgent, observation: Floats) -> tuple[Floats, Floats]:
    card = policy.card
    network = make_network(card.network, card.hidden, card.activation, card.ledger, policy.weights)
    value = network.value(observation)
    assert value is not None
    return network.logits(observation), value


def test_nobody_overlooks_what_is_his_own_or_a_field_of_an_earlier_blind_spot() -> None:
    fields = {field.name: field for field in observation_fields(ledger=True)}
    columns = {name: list_columns(fields[name]) for spot in BLIND_SPOTS for name in spot.fields}
    listed = np.concatenate([found.ravel() for found in columns.values()])
    assert len(set(listed.tolist())) == len(listed)
    for name in SEAT_FIELDS:
        assert fields[name].shape[0] == NUM_BOARDS
        own = np.arange(fields[name].start, fields[name].stop).reshape(fields[name].shape)[0]
        assert not set(own.ravel().tolist()) & set(columns[name].ravel().tolist())
    assert columns["ahead_cubes"].shape[1] == NUM_MUSICIANS
    assert fields["ahead_cubes"].start + 1 == columns["ahead_cubes"][1, 0]


def test_levels_differ_by_seed_only_where_they_are_drawn() -> None:
    games = BatchedGames(200, num_players=4, seed=4)
    rows = np.arange(200)
    for name, is_drawn in (("level:1", True), ("level:10", False)):
        first = agents.make(name, seed=1).decide(games, rows).tolist()
        assert agents.make(name, seed=1).decide(games, rows).tolist() == first
        assert (agents.make(name, seed=2).decide(games, rows).tolist() != first) == is_drawn
    assert len({agents.make(name, seed=1).fingerprint(4) for name in LEVELS}) == NUM_LEVELS


# Strength.


@pytest.mark.parametrize("num_players", PLAYER_COUNTS)
def test_three_levels_make_a_difference(num_players: int) -> None:
    """On other deals than those of the calibration, each level wins clearly more than par against one far below it."""
    variant = Variant(num_players=num_players)
    for stronger, weaker in (("level:10", "level:7"), ("level:7", "level:4"), ("level:4", "level:1")):
        rate = win_rate_against(agents.make(stronger, seed=1), agents.make(weaker, seed=2), variant, 300, 99)
        assert rate.low > 1 / num_players, (stronger, weaker)


@pytest.mark.parametrize("num_players", PLAYER_COUNTS)
def test_the_beginner_is_between_random_and_greedy(num_players: int) -> None:
    variant = Variant(num_players=num_players)
    beginner = agents.make("level:1", seed=1)
    assert win_rate_against(beginner, agents.make("random", seed=2), variant, 300, 99).low > 1 / num_players
    assert win_rate_against(agents.make("greedy", seed=2), beginner, variant, 300, 99).low > 1 / num_players


# Where agents are named.


def test_a_level_is_an_opponent_in_the_environment_of_one_seat() -> None:
    env = gymnasium.make("symphony9_env:Symphony9-v0", num_players=3, opponents=["level:3", "level:8"])
    env.reset(seed=1)
    mask = env.unwrapped.action_masks()  # type: ignore[attr-defined]
    env.step(int(np.flatnonzero(mask)[0]))
