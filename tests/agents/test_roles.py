"""Teams of seats: whose wins count, who is simulated how, and which names and games are refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from symphony9_env import agents
from symphony9_env.actions import NAMES, number
from symphony9_env.agents.roles import Roles
from symphony9_env.agents.search import SearchAgent
from symphony9_env.agents.think import ThinkAgent
from symphony9_env.envs.aec import RawEnv
from symphony9_env.rewards import REWARDS, compute_rewards
from symphony9_env.rules.state import NUM_BOARDS, SELL_LAST, game_at
from tests.scenarios import deal, set_state

SELL_8, PASS = number("sell 8"), number("pass")


def last_decision(points: Sequence[int], seat: int = 0) -> RawEnv:
    """Return a game of three in which a seat may sell its last furniture, and the game is over then.

    It has 12 points with the $8 token and 10 without. The others have this many points, by money at $3 a point.
    """
    env = deal(3)
    set_state(env, phase=SELL_LAST, pending=1, round_index=5, player=seat)
    game = game_at(env.states)
    game.money[:3] = 3 * np.array(points)
    game.money[seat] = 0
    game.furniture[:3] = 0
    game.furniture[seat] = [0, 0, 1]
    game.compositions[:] = 0
    game.compositions[seat] = [2, 0, 0, 0, 0, 0]  # 8 points by tile 1A
    set_state(env)
    return env


@pytest.mark.parametrize("kind", ["search:30", "think:8"])
def test_a_team_wants_one_of_its_seats_to_win(kind: str) -> None:
    """Seat 0 can have 12 points or 10; seat 1 has 11: the seat wins itself, or lets seat 1 win."""
    env = last_decision([0, 11, 5])
    alone, with_loser, with_winner = (agents.make(kind + team, seed=1) for team in ("", "+02", "+01"))
    assert [NAMES[agent.choose(env)] for agent in (alone, with_loser)] == ["pass", "pass"]
    for action, expected in ((PASS, 1.0), (SELL_8, 1.0)):  # the team of 0 and 1 wins anyway
        assert value_of(with_winner, env, action) == pytest.approx(expected if kind == "search:30" else 0.5)
    assert value_of(with_loser, env, SELL_8) == pytest.approx(0 if kind == "search:30" else -1)


def value_of(agent: agents.Agent, env: RawEnv, action: int) -> float:
    if isinstance(agent, SearchAgent):
        return float(agent.compare(env.states, 0, [action]).mean())
    assert isinstance(agent, ThinkAgent)
    found = agent.analyze(env.states, 0)
    return float(found.values[found.actions == action].item())


@pytest.mark.parametrize("num_players", [3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_the_goal_of_a_coalition_is_what_its_members_receive_and_what_the_target_loses(
    num_players: int, seed: int
) -> None:
    """On the returns of finished games, ties included."""
    env = RawEnv(num_players=num_players)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    while not env.terminations["player_0"]:
        env.step(int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))
    returns, points, ranks = np.zeros(NUM_BOARDS), np.zeros(NUM_BOARDS, np.int64), np.zeros(NUM_BOARDS)
    if seed % 2:
        game = game_at(env.states)
        for field in ("money", "furniture", "compositions"):
            getattr(game, field)[1] = getattr(game, field)[0]
    compute_rewards(env.states, 0, REWARDS.index("win"), 0.0, points, ranks, returns)
    for target in range(num_players):
        team = tuple(seat for seat in range(num_players) if seat != target)
        for seat in team:
            goal = Roles(team=team).weigh_returns(seat, num_players) @ returns[:num_players]
            assert goal == pytest.approx(returns[list(team)].sum()) == pytest.approx(-returns[target])
        own = Roles(team=team).weigh_returns(target, num_players)  # not of the team: it plays for itself
        assert own.tolist() == np.eye(num_players)[target].tolist()


def test_the_known_seats_are_those_outside_the_team_unless_they_are_named() -> None:
    assert Roles().as_sets(1) == (0b1101, 0b0010)
    assert Roles(team=(1, 2)).as_sets(2) == (0b1001, 0b0110)
    assert Roles(team=(0, 1), known=(0,)).as_sets(1) == (0b0001, 0b0011)


@pytest.mark.parametrize("name", ["search:40", "search:40@planner", "think:24", "think:24@policy"])
def test_a_seat_outside_the_team_plays_for_itself(name: str) -> None:
    assert Roles(team=(1, 2)).as_sets(0) == Roles().as_sets(0)
    kind, at, known = name.partition("@")
    env = deal(3)
    seat = env.deciding_seat
    team = "".join(str(each) for each in range(3) if each != seat)
    alone, outside = agents.make(name, seed=1), agents.make(f"{kind}+{team}{at}{known}", seed=1)
    for action in (0, 1):
        assert value_of(alone, env, action) == value_of(outside, env, action)


@pytest.mark.parametrize("name", ["search:5+12", "search:5@0:planner", "search:5+013@2:greedy", "think:5+12@0:policy"])
def test_a_name_is_kept_as_it_was_given(name: str) -> None:
    assert agents.make(name, seed=1).name == name
    assert agents.make(f"mine={name}", seed=1).spec == name


@pytest.mark.parametrize("kind", ["search:5", "think:5"])
def test_seats_that_do_not_exist_and_teams_without_rivals_are_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="with 3 players, the seats are 0 to 2"):
        agents.make(f"{kind}+13", seed=1).check_players(3)
    with pytest.raises(ValueError, match="with 2 players, the seats are 0 to 1"):
        agents.make(f"{kind}@2:planner", seed=1).check_players(2)
    with pytest.raises(ValueError, match="a team of all 3 players always wins"):
        agents.make(f"{kind}+012", seed=1).check_players(3)
    agents.make(f"{kind}+012", seed=1).check_players(4)


def test_only_the_named_seat_is_simulated_as_the_known_agent() -> None:
    """Telling a search about a seat changes its playouts, and telling it about all rivals changes them again."""
    env = deal(3)
    values = [
        agents.make(name, seed=1).compare(env.states, 0, [0])[0].tolist()  # type: ignore[attr-defined]
        for name in ("search:80", f"search:80@{other(env)}:random", "search:80@random")
    ]
    assert values[0] != values[1] != values[2] != values[0]


def other(env: RawEnv) -> int:
    return (env.deciding_seat + 1) % 3
