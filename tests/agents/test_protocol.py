"""What holds for every agent: legal, repeatable, independent of hidden information, the same in a batch."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pettingzoo.utils import wrappers

from symphony9_env import BatchedGames, agents, symphony9_v0
from symphony9_env.agents import Agent, Card, save_policy
from symphony9_env.agents.base import StoredPositions, position_of
from symphony9_env.agents.think import DEFAULT_LINES
from symphony9_env.engine import MAX_DECISIONS
from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.options import TRACKS
from symphony9_env.rules.state import NONE, game_at
from symphony9_env.views import resample
from tests.properties.strategies import positions, rngs
from tests.properties.test_secrets import change_secrets

SCRIPTED = ["random", "greedy", "investor", "planner", "eccentric"]
KINDS = [
    *SCRIPTED,
    "search:6",
    "search:6@planner",
    "search:4@policy",
    "search:4@level:3",
    "think:6",
    "think:6@planner",
    "think:4@policy",
    "level:2",
    "level:6",
    "level:10",
    "think:4@level:3",
]
TEAMS = [
    "search:6+12",
    "search:6+02@planner",
    "search:6+01@0:greedy",
    "search:4+02@1:policy",
    "think:6+12",
    "think:4+02@policy",
    "think:4@0:policy",
]


def random_weights(card: Card, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in card.shapes().items()}


@pytest.fixture(scope="session")
def policy_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    card = Card(num_players=(2, 3, 4), hidden=(16,), ledger=True, temperature=1.0)
    path = tmp_path_factory.mktemp("policy") / "small.safetensors"
    save_policy(path, card, random_weights(card))
    return str(path)


def every_kind(policy_path: str) -> list[Agent]:
    thinking = (f"think:4:{policy_path}", f"think:4:{policy_path}@{policy_path}", "think:2@search:2")
    return [agents.make(kind, seed=5) for kind in (*KINDS, policy_path, *thinking)]


def kinds_for(env: RawEnv, policy_path: str) -> list[Agent]:
    """Return agents of every kind; a team needs a third player."""
    teams = TEAMS if env.options.num_players > 2 else []
    return [*every_kind(policy_path), *(agents.make(name, seed=5) for name in teams)]


def test_names_can_all_be_made() -> None:
    assert set(SCRIPTED) < set(agents.names())
    for name in agents.names():
        assert isinstance(agents.make(name, seed=1), Agent)
    assert agents.make("search").name == "search:800"
    assert agents.make("search:25").name == "search:25"
    assert agents.make("think").name == f"think:{DEFAULT_LINES}"
    assert agents.make("think:25@search:3@planner").name == "think:25@search:3@planner"
    assert agents.make("search:3+12@0:think:25@policy").name == "search:3+12@0:think:25@policy"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("planer", "unknown agent 'planer'; did you mean 'planner'?"),
        ("", "unknown agent ''"),
        ("search:0", "agent 'search:0'; allowed: search:N"),
        ("search:many", "agent 'search:many'; allowed: search:N"),
        ("search:-3", "agent 'search:-3'; allowed: search:N"),
        ("search:10@", "agent 'search:10@'; allowed: search:N"),
        ("search:10@nobody", "unknown agent 'nobody'"),
        ("search:10@0:nobody", "unknown agent 'nobody'"),
        ("search:10@level:0", "agent 'level:0'; allowed: level:1 to level:10"),
        ("search:10@no.safetensors", "policy no.safetensors: no such file"),
        ("search:10:no.safetensors", "agent 'search:10:no.safetensors'; allowed: search:N"),
        ("search:10+1", "agent 'search:10\\+1'; allowed: search:N"),
        ("search:10+21", "agent 'search:10\\+21'; allowed: search:N"),
        ("search:10+11", "agent 'search:10\\+11'; allowed: search:N"),
        ("search:10+14", "agent 'search:10\\+14'; allowed: search:N"),
        ("search:10@7:planner", "agent 'search:10@7:planner'; allowed: search:N"),
        ("think:10+", "agent 'think:10\\+'; allowed: think:N"),
        ("think:10+12@nobody", "unknown agent 'nobody'"),
        ("think:10+12@search:4", "agent 'think:10\\+12@search:4': with seats, the agent behind @ must be a scripted"),
        ("level:0", "agent 'level:0'; allowed: level:1 to level:10"),
        ("think:0", "agent 'think:0'; allowed: think:N with 1 to 1000000 lines"),
        ("think:many", "agent 'think:many'; allowed: think:N"),
        ("think:1.5", "agent 'think:1.5'; allowed: think:N"),
        ("think:", "agent 'think:'; allowed: think:N"),
        ("think:10@", "agent 'think:10@'; allowed: think:N"),
        ("think:٣", "agent 'think:٣'; allowed: think:N"),  # a digit of another script
        ("search:٣", "agent 'search:٣'; allowed: search:N"),
        ("search:10+0٣", "agent 'search:10\\+0٣'; allowed: search:N"),
        ("think:10@level:0", "agent 'level:0'; allowed: level:1 to level:10"),
        ("think:10:planner", "agent 'think:10:planner'; allowed: think:N"),
        ("think:10:no.safetensors", "policy no.safetensors: no such file"),
        ("think:10@nobody", "unknown agent 'nobody'"),
        ("thinking", "unknown agent 'thinking'; did you mean 'think'?"),
        ("searching", "unknown agent 'searching'; did you mean 'search'?"),
        ("no/such/file.safetensors", "policy no/such/file.safetensors: no such file"),
        (7, "agent 7; allowed: an Agent, a function of a message, or a name: random"),
        (None, "agent None; allowed: an Agent"),
    ],
)
def test_what_can_not_be_made_is_refused(name: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("?", r"\?")):
        agents.make(name)


@pytest.mark.parametrize("digits", ["9" * 11, "9" * 5000, "0" * 9 + "11"], ids=["11", "5000", "leading zeros"])
def test_more_than_ten_digits_of_playouts_are_refused_in_one_short_line(digits: str) -> None:
    with pytest.raises(ValueError, match=r"agent 'search:.*; allowed: search:N with 1 to 1000000 playouts") as error:
        agents.make(f"search:{digits}")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("seed", [-1, 2**53, 1.5, "1", True])
def test_bad_seeds_are_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed="):
        agents.make("random", seed=seed)


@settings(max_examples=60, deadline=None)
@given(positions(), st.integers(0, 1000))
def test_every_choice_is_legal_and_changes_nothing(policy_path: str, env: RawEnv, seed: int) -> None:
    assume(not all(env.terminations.values()))
    before = env.states.tobytes()
    for agent in kinds_for(env, policy_path):
        action = agent.choose(env)
        assert type(action) is int
        assert env.observe(env.agent_selection)["action_mask"][action] == 1
        assert action == agent.choose(env)
    assert env.states.tobytes() == before


@settings(max_examples=80, deadline=None)
@given(positions(), rngs())
def test_what_is_hidden_never_moves_a_choice(policy_path: str, env: RawEnv, rng: np.random.Generator) -> None:
    """Purses are known to a perfect memory, so they are put back; random and greedy don't even look."""
    assume(not all(env.terminations.values()))
    other = env.states.copy()
    change_secrets(game_at(other), env.deciding_seat, rng)
    row = np.zeros(1, np.int64)
    for name in ("random", "greedy"):
        agent = agents.make(name, seed=3)
        assert agent.decide(StoredPositions.of(other), row) == agent.decide(env, row)
    for field in ("money", "furniture"):
        other[field] = env.states[field]
    for agent in kinds_for(env, policy_path):
        assert agent.decide(StoredPositions.of(other), row) == agent.decide(env, row)


def test_a_resampled_environment_gets_the_same_choice() -> None:
    env = RawEnv(num_players=4)
    env.reset(seed=3)
    planner = agents.make("planner", seed=1)
    for _ in range(60):
        twin = env.resample(env.deciding_seat, np.random.default_rng(1))
        for name in (*SCRIPTED, "search:8", "think:8"):
            assert agents.make(name, seed=2).choose(twin) == agents.make(name, seed=2).choose(env)
        env.step(planner.choose(env))


def test_a_batch_is_decided_as_its_games_one_by_one(policy_path: str) -> None:
    games = BatchedGames(24, num_players=3, seed=4)
    for _ in range(45):
        games.step(games.sample_actions())
    rows = np.arange(24)
    for agent in [*every_kind(policy_path), *(agents.make(name, seed=5) for name in TEAMS)]:
        together = agent.decide(games, rows)
        alone = [agent.decide(games, rows[row : row + 1])[0] for row in rows]
        assert together.tolist() == alone
        assert agent.decide(games, rows[::-1].copy()).tolist() == alone[::-1]


SEARCHING = ["think:24", "think:24@policy", "think:24@greedy", "search:50", "level:3"]


@pytest.fixture(scope="module")
def middles_of_games() -> StoredPositions:
    """Return games of all numbers of players, with discussion and random tracks and without, at different moments."""
    batches = []
    for number, (num_players, discussion, tracks) in enumerate(product((2, 3, 4), (False, True), TRACKS)):
        games = BatchedGames(3, num_players=num_players, discussion=discussion, tracks=tracks, seed=number)
        mover = agents.make("level:6", seed=number)
        for move in range(60):
            rows = np.flatnonzero(move < np.array([12 + number, 30 + number, 48 + number]))
            games.step(mover.decide(games, rows), rows)
        batches.append(games)
    history = np.zeros((36, MAX_DECISIONS), np.uint8)
    moves = [games.moves(row) for games in batches for row in range(3)]
    for row, played in enumerate(moves):
        history[row, : len(played)] = played
    states = np.concatenate([games.states for games in batches])
    return StoredPositions(states, history, np.array([len(played) for played in moves]))


@pytest.mark.parametrize("name", SEARCHING)
def test_a_choice_does_not_depend_on_companions_in_the_batch_nor_on_what_is_hidden(
    name: str, middles_of_games: StoredPositions
) -> None:
    """Alone; among games of other options and numbers of players, in other rows; and with other hidden information."""
    agent, rng = agents.make(name, seed=5), np.random.default_rng(1)
    states, history, length = middles_of_games.states, middles_of_games.history, middles_of_games.length
    alone = [int(agent.decide(middles_of_games, np.array([row]))[0]) for row in range(len(states))]
    for size in (5, 20, 36):
        chosen = rng.permutation(len(states))[:size]
        batch = StoredPositions(states[chosen], history[chosen], length[chosen])
        rows = rng.permutation(size)
        assert agent.decide(batch, rows).tolist() == [alone[number] for number in chosen[rows]]
    hidden = np.concatenate([resample(states[row : row + 1], int(states["player"][row]), rng) for row in range(36)])
    assert (hidden != states).sum() > 30
    assert agent.decide(StoredPositions(hidden, history, length), np.arange(36)).tolist() == alone
    assert agents.make(name, seed=5, num_threads=2).decide(middles_of_games, np.arange(36)).tolist() == alone


@pytest.mark.parametrize("name", ["search:20", "think:20"])
def test_threads_change_nothing_in_a_search(name: str) -> None:
    games = BatchedGames(9, num_players=4, seed=4)
    rows = np.arange(9)
    one = agents.make(name, seed=1)
    three = agents.make(name, seed=1, num_threads=3)
    assert one.decide(games, rows).tolist() == three.decide(games, rows).tolist()


def test_the_seed_decides_chance_and_nothing_else_does() -> None:
    games = BatchedGames(200, num_players=4, seed=4)
    rows = np.arange(200)
    first = agents.make("random", seed=1).decide(games, rows)
    assert agents.make("random", seed=1).decide(games, rows).tolist() == first.tolist()
    assert agents.make("random", seed=2).decide(games, rows).tolist() != first.tolist()


def test_random_is_even_over_what_is_legal() -> None:
    games = BatchedGames(6000, num_players=4, seed=9)  # all six musicians and three sales at the first decision
    chosen = agents.make("random", seed=1).decide(games, np.arange(6000))
    counts = np.bincount(chosen, minlength=22)
    assert counts[6:19].sum() == 0
    assert np.all(np.abs(counts[[0, 1, 2, 3, 4, 5, 19, 20, 21]] - 6000 / 9) < 5 * (6000 / 9) ** 0.5)


def test_agents_play_in_every_kind_of_environment() -> None:
    agent = agents.make("planner", seed=1)
    raw = symphony9_v0.raw_env(num_players=3)
    checked = symphony9_v0.env(num_players=3)
    wrapped = wrappers.OrderEnforcingWrapper(symphony9_v0.raw_env(num_players=3))
    parallel = symphony9_v0.parallel_env(num_players=3)
    single = SingleSeatEnv(num_players=3, seat=0)
    chosen = []
    for env in (raw, checked, wrapped, parallel):
        env.reset(seed=8)
        chosen.append(agent.choose(env))
    assert len(set(chosen)) == 1
    single.reset(seed=8)
    assert single.action_masks()[agent.choose(single)]


def test_where_nobody_is_to_decide_is_said() -> None:
    agent = agents.make("greedy", seed=1)
    env = symphony9_v0.env(num_players=2)
    with pytest.raises(ValueError, match="no game has been dealt"):
        agent.choose(env)
    env.reset(seed=1)
    env.step(38)  # illegal: ends the game
    with pytest.raises(ValueError, match="the game is over"):
        agent.choose(env)
    env.reset(seed=1)
    while not all(env.terminations.values()):
        env.step(agent.choose(env))
    with pytest.raises(ValueError, match="the game is over"):
        agent.choose(env)
    for nothing in (None, 7, object()):
        with pytest.raises(ValueError, match="allowed: an environment of this package"):
            agent.choose(nothing)


def test_the_game_is_found_behind_wrappers() -> None:
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=1)
    assert position_of(wrappers.OrderEnforcingWrapper(env)) is env
    assert env.states["hand"][0, 0] == NONE
