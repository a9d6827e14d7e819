"""Search that knows how its rivals play: any agent, simulated in compiled code or asked for its moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings

from symphony9_env import BatchedGames, agents
from symphony9_env.agents import Agent, AgentFailed, Card, save_policy
from symphony9_env.agents.base import Positions, Rows, StoredPositions
from symphony9_env.agents.message import AgentMessage
from symphony9_env.agents.registry import find_policy_files, is_process_or_address, is_registered
from symphony9_env.agents.search import SearchAgent
from symphony9_env.engine import MAX_DECISIONS, play_rows
from symphony9_env.envs.aec import RawEnv
from symphony9_env.game_replay import deal_again
from symphony9_env.rules.state import CONTRIBUTE, NONE, game_at
from symphony9_env.views import observation_size
from tests.agents.test_protocol import random_weights
from tests.properties.strategies import positions, rngs
from tests.properties.test_secrets import change_secrets
from tests.scenarios import at_concert, deal

Decide = Callable[[Positions, Rows], Rows]


class Asked(Agent):
    """Decides by a function of positions, so that it is not simulated in compiled code."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        return self._decide(positions, rows)


def register(decide: Decide, name: str = "asked") -> None:
    agents.register(name, lambda seed: Asked(decide))


def make(name: str, seed: int = 1, num_threads: int = 1) -> SearchAgent:
    agent = agents.make(name, seed, num_threads=num_threads)
    assert isinstance(agent, SearchAgent)
    return agent


def lowest(message: AgentMessage) -> str:
    return min(message["legal"], key=int)


def after_moves(num_moves: int, num_players: int, ledger: bool = False) -> BatchedGames:
    games = BatchedGames(3, num_players=num_players, ledger=ledger, seed=num_moves)
    planner, rows = agents.make("planner", seed=1), np.arange(3)
    for _ in range(num_moves):
        games.step(planner.decide(games, rows))
    return games


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("rival", ["planner", "greedy", "policy"])
def test_an_agent_that_is_asked_is_simulated_as_the_same_agent_in_compiled_code(rival: str, num_players: int) -> None:
    """At the beginning, in the middle of a round, and for every seat of the first concert."""
    register(agents.make(rival, seed=1).decide)
    for num_moves in (0, 7, *range(6 * num_players, 7 * num_players)):
        games, rows = after_moves(num_moves, num_players), np.arange(3)
        for known in ("@", "@1:", *(["+02@1:"] if num_players > 2 else [])):
            compiled, asked = make(f"search:6{known}{rival}"), make(f"search:6{known}asked")
            assert compiled.decide(games, rows).tolist() == asked.decide(games, rows).tolist()
            assert compiled.analyze(games.states, 0) == asked.analyze(games.states, 0)
            legal = np.flatnonzero(games.action_mask[0])[:2].tolist()
            values = [agent.compare(games.states, 0, legal) for agent in (compiled, asked)]
            assert (values[0] == values[1]).all()


@pytest.mark.parametrize("name", ["search:3@asked", "search:3@0:asked", "search:3+13@0:asked", "think:4@asked"])
def test_the_moves_of_a_simulated_game_lead_to_its_state(name: str) -> None:
    """Also if hands were closed: what is in them in a simulated game is not what is in them in the real one."""
    checked = 0

    def check(positions: Positions, rows: Rows) -> Rows:
        nonlocal checked
        for row in rows.tolist():
            if positions.states["phase"][row] != CONTRIBUTE:  # there, a seat may be asked about a bid of the past
                game, moves = deal_again(positions.states, row), np.array(positions.moves(row))
                replayed = np.zeros((1, MAX_DECISIONS), np.uint8), np.zeros(1, np.int64)
                for move in moves[:, None]:
                    assert play_rows(game, np.zeros(1, np.int64), move, *replayed) == NONE
                assert game.tobytes() == positions.states[row : row + 1].tobytes()
                checked += 1
        return greedy.decide(positions, rows)

    greedy = agents.make("greedy", seed=1)
    register(check)
    for num_moves in (24, 25, 26, 27):
        agents.make(name, seed=1).decide(after_moves(num_moves, 4), np.arange(3))
    assert checked > 100


@settings(max_examples=10, deadline=None)
@given(positions(), rngs())
def test_what_is_hidden_never_moves_a_choice(env: RawEnv, rng: np.random.Generator) -> None:
    assume(not all(env.terminations.values()))
    other = env.states.copy()
    change_secrets(game_at(other), env.deciding_seat, rng)
    for field in ("money", "furniture"):  # a perfect memory knows them
        other[field] = env.states[field]
    for name in ("search:3@search:1", "search:3@0:search:1"):
        agent = agents.make(name, seed=3)
        assert agent.decide(StoredPositions.of(other), np.zeros(1, np.int64)) == agent.choose(env)


def test_a_batch_is_decided_as_its_games_one_by_one_with_any_number_of_threads() -> None:
    games, rows = after_moves(30, 3), np.arange(3)
    for name in ("search:4@search:2", "search:20@policy"):
        together = make(name).decide(games, rows).tolist()
        assert together == [int(make(name).decide(games, rows[row : row + 1])[0]) for row in rows]
        assert together == make(name, num_threads=2).decide(games, rows).tolist()


@pytest.mark.parametrize("ledger", [False, True])
def test_a_function_is_asked_with_the_game_as_its_seat_would_see_it(ledger: bool) -> None:
    seen = []

    def watch(message: AgentMessage) -> str:
        seen.append(message)
        return lowest(message)

    agents.register("watch", watch)
    games = after_moves(20, 2, ledger)
    make("search:2@watch").decide(games, np.zeros(1, np.int64))
    assert {len(message["observation"]) for message in seen} == {observation_size(ledger)}
    assert {message["seat"] for message in seen} == {1 - int(games.player[0])}
    assert {message["events"][0]["kind"] for message in seen} == {"round_started"}
    assert max(len(message["events"]) for message in seen) > min(len(message["events"]) for message in seen) > 20


@pytest.mark.parametrize("kind", ["search:2", "think:4"])
def test_a_function_can_be_asked_if_the_moves_of_the_game_so_far_are_not_known(kind: str) -> None:
    """It sees no events then, because those of the simulated game alone would make no sense."""
    agents.register("lowest", lowest)
    games, row = after_moves(30, 3), np.zeros(1, np.int64)
    agent = agents.make(f"{kind}@lowest", seed=1)
    assert agent.decide(StoredPositions.of(games.states), row) == agent.decide(games, row)


@pytest.mark.parametrize("kind", ["search:4", "think:4"])
def test_a_rival_that_fails_in_a_simulated_game_is_named(kind: str) -> None:
    agents.register("broken_rival", lambda message: "nothing")
    with pytest.raises(AgentFailed, match="agent 'broken_rival' gave no legal action") as failure:
        agents.make(f"{kind}@broken_rival", seed=1).decide(after_moves(3, 2), np.array([2]))
    assert failure.value.row == 2


@pytest.mark.parametrize("kind", ["search:4", "think:4"])
def test_a_rival_that_chooses_an_illegal_action_in_a_simulated_game_is_named(kind: str) -> None:
    register(lambda positions, rows: np.full(len(rows), 99))
    with pytest.raises(AgentFailed, match="'asked' chose 99, which is illegal, in a simulated game") as failure:
        agents.make(f"{kind}@asked", seed=1).choose(deal(2))
    assert failure.value.row == 0


def test_a_single_choice_asks_nobody() -> None:
    env = at_concert()
    game_at(env.states).money[:] = 0
    game_at(env.states).furniture[:] = 0
    agents.register("broken_rival", lambda message: "nothing")
    assert make("search:5@broken_rival").analyze(env.states, 0)[1:] == (0, 0.0)


def test_a_policy_refuses_other_player_counts(tmp_path: Path) -> None:
    card = Card(num_players=(3,), hidden=(4,))
    save_policy(tmp_path / "p.safetensors", card, random_weights(card))
    agent = make(f"search:5@{tmp_path / 'p.safetensors'}")
    agent.check_players(3)
    for call in (lambda: agent.check_players(2), lambda: agent.choose(deal(2))):
        with pytest.raises(ValueError, match="is for 3 players; this game has 2"):
            call()


def test_the_fingerprint_changes_with_the_policy_and_is_the_name_for_a_strategy(tmp_path: Path) -> None:
    card = Card(num_players=(2,), hidden=(4,))
    path = tmp_path / "p.safetensors"
    seen = set()
    for seed in (0, 1):
        save_policy(path, card, random_weights(card, seed))
        seen.add(make(f"search:5@{path}").fingerprint(2))
    assert len(seen) == 2
    assert make("search:5@planner").fingerprint(2) == "search:5@planner"


def test_what_a_known_rival_holds_is_released_and_its_playouts_count(monkeypatch: pytest.MonkeyPatch) -> None:
    register(agents.make("greedy", seed=1).decide)
    closed: list[str] = []
    monkeypatch.setattr(Asked, "close", lambda agent: closed.append(agent.name))
    make("search:5@asked").close()
    assert closed == ["asked"]
    assert make("search:5@search:7").playouts == 5 * 8
    assert make("search:5@planner").playouts == 5


def test_names_of_known_rivals() -> None:
    register(agents.make("greedy", seed=1).decide)
    agent = agents.make("mine=search:4+12@0:x=policy", seed=1)
    assert (agent.name, agent.spec) == ("mine", "search:4+12@0:policy")  # `spec` makes the same agent again
    assert is_registered("search:4@0:asked")
    assert is_process_or_address("search:4@mine=stdio:python x.py")
    assert find_policy_files("search:4@think:3:a.safetensors@b.safetensors") == ["a.safetensors", "b.safetensors"]


def test_knowing_the_policy_wins_more_against_it() -> None:
    """Twenty games in different seats: search wins fewer than five, and more than fifteen if it knows its rival."""
    from symphony9_env.arena.matches import win_rate_against
    from symphony9_env.options import Variant

    rates = [
        win_rate_against(make(name), agents.make("policy", seed=2), Variant(num_players=2), 20, seed=9).value
        for name in ("search:100", "search:100@policy")
    ]
    assert rates[1] > rates[0]
