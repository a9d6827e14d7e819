"""Who meets whom: balanced, on duplicate deals, the same for the same seed."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from symphony9_env import agents, symphony9_v0
from symphony9_env.agents import Agent, AgentFailed, AgentMessage, ExternalAgent
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.agents.transports import FunctionTransport
from symphony9_env.arena.games_csv import make_game_record, make_rows
from symphony9_env.arena.matches import Schedule, ScheduledGame, list_lineups, play
from symphony9_env.options import Variant
from symphony9_env.records import replay
from symphony9_env.rules.state import OUTCOMES


def test_lineups_of_fewer_agents_than_seats_are_all_compositions() -> None:
    assert list_lineups(2, 4) == [(0, 0, 0, 1), (0, 0, 1, 1), (0, 1, 1, 1)]
    assert list_lineups(1, 3) == [(0, 0, 0)]
    assert len(list_lineups(3, 4)) == 3


def test_lineups_of_more_agents_than_seats_are_all_groups() -> None:
    assert list_lineups(4, 4) == [(0, 1, 2, 3)]
    assert len(list_lineups(6, 4)) == 15
    assert len(list_lineups(5, 2)) == 10


def test_one_against_rest_is_every_ordered_pair() -> None:
    assert list_lineups(2, 4, "one-against-rest") == [(0, 1, 1, 1), (1, 0, 0, 0)]
    assert list_lineups(3, 2, "first-against-rest") == [(0, 1), (0, 2)]
    with pytest.raises(ValueError, match="needs two agents"):
        Schedule(1, 4, 0, "one-against-rest")


@pytest.mark.parametrize(("num_agents", "num_players"), [(2, 4), (4, 4), (5, 3), (1, 2), (3, 2), (6, 4)])
def test_every_agent_has_every_seat_equally_often_on_the_same_deals(num_agents: int, num_players: int) -> None:
    schedule = Schedule(num_agents, num_players, seed=3)
    games = [schedule.game(number) for number in range(3 * schedule.cycle_size)]
    seats: dict[int, Counter[int]] = defaultdict(Counter)
    by_deal = defaultdict(list)
    for game in games:
        by_deal[game.deal].append(game)
        for seat, agent in enumerate(game.agents):
            seats[agent][seat] += 1
    for counts in seats.values():
        assert len(set(counts.values())) == 1
        assert len(counts) == num_players
    assert len({sum(counts.values()) for counts in seats.values()}) == 1  # and each agent as often as the others
    for same in by_deal.values():
        assert len({game.seed for game in same}) == 1
        assert len({game.agents for game in same}) == len(same)  # no game is played twice
        assert all(sorted(game.agents) == sorted(same[0].agents) for game in same)
    assert len({game.seed for game in games}) == len(by_deal)


def test_a_longer_tournament_begins_like_a_shorter_one() -> None:
    one, other = Schedule(3, 4, seed=5), Schedule(3, 4, seed=5)
    assert [one.game(n) for n in range(20)] == [other.game(n) for n in range(20)]
    assert one.game(4) != Schedule(3, 4, seed=6).game(4)
    assert one.round_up_to_cycles(1) == one.cycle_size == 12
    assert one.round_up_to_cycles(13) == 24


def test_batches_change_nothing() -> None:
    players = [agents.make(name, seed=number) for number, name in enumerate(["random", "greedy", "search:4"])]
    options = Variant(num_players=3)
    games = [Schedule(3, 3, seed=2).game(number) for number in range(6)]
    together = play(games, players, options)
    alone = [play([game], players, options)[0] for game in games]
    assert [one.moves for one in together] == [one.moves for one in alone]


def test_games_are_those_of_the_environment() -> None:
    """The same seed, the same agents, move by move."""
    players = [agents.make("planner", seed=1), agents.make("random", seed=2)]
    game = ScheduledGame(0, 0, 12345, (0, 1))
    played = play([game], players, Variant(num_players=2))[0]
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=12345)
    for move in played.moves:
        assert players[env.deciding_seat].choose(env) == move
        env.step(move)
    assert env.record() == make_game_record(played)
    assert env.states.tobytes() == played.final.tobytes()


class Cheat(Agent):
    name = "cheat"
    seed = 0

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        return np.full(len(rows), 39)


def test_an_agent_that_breaks_the_rules_is_named() -> None:
    with pytest.raises(ValueError, match="agent 'cheat' chose 39 \\('bid 8 with 8'\\), which is illegal"):
        play([ScheduledGame(0, 0, 1, (0, 0))], [Cheat()], Variant(num_players=2))


def test_an_agent_that_breaks_the_rules_forfeits_the_game() -> None:
    games = [ScheduledGame(number, 0, 77, seats) for number, seats in enumerate([(0, 1), (1, 1)])]
    players = [Cheat(), agents.make("greedy", seed=1)]
    played = play(games, players, Variant(num_players=2), may_forfeit=True)
    assert played[0].forfeit is not None
    assert played[0].forfeit.reason == "chose 39 ('bid 8 with 8'), which is illegal, in the game with seed 77"
    assert played[1].forfeit is None
    assert played[1].moves == play(games[1:], players, Variant(num_players=2))[0].moves


def test_a_game_in_which_an_agent_fails_is_forfeited_and_the_others_are_played() -> None:
    """It fails in its third round, in the games in which it has the first seat."""

    def decide(message: AgentMessage) -> str:
        if message["seat"] == 0 and message["view"]["position"]["round"] == 3:
            raise RuntimeError("no idea")
        return min(message["legal"], key=int)

    players = [ExternalAgent(FunctionTransport(decide), "own"), agents.make("greedy", seed=1)]
    games = [ScheduledGame(number, 0, 77, seats) for number, seats in enumerate([(0, 1), (1, 0), (0, 1)])]
    with pytest.raises(AgentFailed, match="agent 'own' raised"):
        play(games, players, Variant(num_players=2))
    played = play(games, players, Variant(num_players=2), may_forfeit=True)
    assert [one.forfeit is not None for one in played] == [True, False, True]
    assert played[0].forfeit is not None
    assert played[0].forfeit.reason.startswith("raised RuntimeError: no idea (at test_matches.py:")
    assert played[0].moves == played[2].moves
    assert played[1].moves == play(games[1:2], players, Variant(num_players=2))[0].moves


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_lines_tell_what_happened(num_players: int) -> None:
    options = Variant(num_players=num_players)
    names = ["planner", "random"]
    players = [agents.make(name, seed=1) for name in names]
    game = ScheduledGame(3, 1, 99, tuple([0, 1, 0, 1][:num_players]))
    played = play([game], players, options)[0]
    lines = make_rows(played, names)
    record = make_game_record(played)
    *_, last = replay(record)
    assert [line["score"] for line in lines] == record["result"]["scores"]
    for seat, line in enumerate(lines):
        points = [line[name] for name in line if name.startswith("points_") and line[name] != ""]
        assert sum(points) == pytest.approx(line["score"])
        assert line["agent"] == names[game.agents[seat]]
        assert line["moves"] == len(record["actions"])
        assert line["rank"] == last.infos[f"player_{seat}"]["rank"]
        own = [move for player, move in record["actions"] if player == f"player_{seat}"]
        given = [move for move in own if move.startswith("bid")]
        assert [str(line[f"bid_{number}"]) for number in range(1, 7)] == [move.split()[1] for move in given]
        succeeded = [line[f"outcome_{number}"] in ("low", "medium", "high") for number in range(1, 7)]
        paid = sum("with" in move and success for move, success in zip(given, succeeded, strict=True))
        assert line["furniture_sold"] == paid + sum(move.startswith("sell") for move in own)
        assert all(line[f"outcome_{number}"] in OUTCOMES for number in range(1, 7))
    assert sum(line["win_share"] for line in lines) == pytest.approx(1)
    assert sum(line["starts"] for line in lines) == 1
