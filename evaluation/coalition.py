"""Measure how much an agent loses when all other players share one goal, and how much it contributes to a partner.

    python -m evaluation.coalition policy --num-players 4 --members search:100 --games 120 --out runs/coalition
    python -m evaluation.coalition think:48 --num-players 3 --members search:100 --games 90 --out runs/against-think
    python -m evaluation.coalition planner --num-players 3 --members think:48 --informed --out runs/informed
    python -m evaluation.coalition policy --num-players 3 --members policy --trained 1000000 --out runs/trained
    python -m evaluation.coalition policy --num-players 4 --members search:100 --workers 8 --out runs/eight

AGENT plays every deal in every seat, under several conditions:

  independent  all others are copies of the member agent, each of which plays for itself
  coalition    they share one goal: that AGENT does not win
  partner      one of them shares AGENT's goal: that one of the two wins, whichever; the others play for themselves
  trained      all others are a policy that was trained for the goal of the coalition (--trained STEPS)

The loss is AGENT's win rate among independent players less that against the coalition. The contribution is how much
more often AGENT or its partner wins if the partner shares AGENT's goal. AGENT itself plays as always. The members share
no hidden information: each decides by what its own seat may know. `--informed` tells the members, under all conditions,
how AGENT plays; those that think can be told of a scripted agent or a policy only. Members are search:N, think:N or
think:N:POLICY. Other agents can't be given a goal, so they need --trained, and play no partner. Run the same command
again to continue after a stop.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evaluation.coalition_results import (
    COALITION,
    INDEPENDENT,
    PARTNER,
    TRAINED,
    CoalitionResults,
    format_results,
    make_report,
    summarise,
)
from evaluation.trained_responses import train_response
from symphony9_env import agents
from symphony9_env.agents.base import Agent, derive_agent_seed
from symphony9_env.agents.external import TIMEOUT, TIMEOUT_HELP
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.agents.search import SearchAgent
from symphony9_env.agents.think import ThinkAgent
from symphony9_env.arena.console import format_command, positive_int
from symphony9_env.arena.game_players import AgentRecipe
from symphony9_env.arena.matches import DealSchedule, ScheduledGame
from symphony9_env.arena.results import GameData
from symphony9_env.arena.tournament import Tournament, play_until_stopped
from symphony9_env.arena.worker_pools import THREADS_HELP, add_worker_arguments, open_pool
from symphony9_env.arguments import Parser, add_variant_arguments, read_variant, run
from symphony9_env.files import write_text
from symphony9_env.options import Variant, check_seed

PROG: Final = "python -m evaluation.coalition"
LINEUPS: Final = "coalition"  # in the settings of the run
MIN_PLAYERS: Final = 3


@dataclass(frozen=True)
class Members:
    """The players around the agent: the member agent, and what it is told."""

    agent: str
    member: str  # as `agents.make` names it, without a label
    num_players: int
    can_share: bool  # a goal
    known: str = ""  # the agent, as its members are told to simulate it; empty if they are told nothing
    trained: str | None = None  # the path of a policy

    def conditions(self) -> list[str]:
        """Return the conditions that can be played."""
        searching = [COALITION, PARTNER] if self.can_share else []
        return [INDEPENDENT, *searching, *([TRAINED] if self.trained else [])]

    def seat(self, condition: str, agent_seat: int, partner_seat: int) -> list[str]:
        """Return who has each seat, as `agents.make` takes it: a label that tells the role, and the player."""
        alone = self._label("independent", (), agent_seat)
        others = [seat for seat in range(self.num_players) if seat != agent_seat]
        if condition == COALITION:
            alone = self._label(f"coalition against seat {agent_seat}", others, agent_seat)
        elif condition == TRAINED:
            alone = f"trained coalition={self.trained}"
        seats = [alone] * self.num_players
        if condition == PARTNER:
            pair = sorted((agent_seat, partner_seat))
            seats[partner_seat] = self._label(f"partner {partner_seat} of seat {agent_seat}", pair, agent_seat)
        seats[agent_seat] = self.agent
        return seats

    def _label(self, role: str, team: Sequence[int], agent_seat: int) -> str:
        known = f"@{agent_seat}:{self.known}" if self.known else ""
        about = f" who knows seat {agent_seat}" if self.known and not team else ""
        goal = "+" + "".join(map(str, team)) if team else ""
        return f"{role}{about}={self.member}{goal}{known}"


def can_share_a_goal(agent: Agent) -> bool:
    """Return whether an agent can be given a team, and has none yet."""
    return isinstance(agent, SearchAgent | ThinkAgent) and not agent.roles.team and "@" not in (agent.spec or "")


class CoalitionSchedule(DealSchedule):
    """All conditions on the same deal, with the agent in every seat.

    The partner of a deal sits at the same distance from the agent in all its games, and one seat further in the next.
    """

    def __init__(self, members: Members, seed: int) -> None:
        self.conditions = members.conditions()
        self._members = members
        super().__init__(members.num_players, len(self.conditions) * members.num_players, seed)
        every = [name for number in range((members.num_players - 1) * self.cycle_size) for name in self._seat(number)]
        self.players = list(dict.fromkeys([members.agent, *every]))  # all that appear in any game, the agent first

    def game(self, number: int) -> ScheduledGame:
        deal = number // self.cycle_size
        seated = tuple(self.players.index(name) for name in self._seat(number))
        return ScheduledGame(number, deal, self.seed_of_deal(deal), seated)

    def describe_cycle(self) -> str:
        return f"{len(self.conditions)} conditions × {self.num_players} seats of the agent, on the same deal"

    def partner_seats(self, deal: int) -> list[int]:
        """Return the partner's seat in a deal for each seat of the agent."""
        distance = 1 + deal % (self.num_players - 1)
        return [(seat + distance) % self.num_players for seat in range(self.num_players)]

    def _seat(self, number: int) -> list[str]:
        deal, place = divmod(number, self.cycle_size)
        condition, agent_seat = divmod(place, self.num_players)
        return self._members.seat(self.conditions[condition], agent_seat, self.partner_seats(deal)[agent_seat])

    def list_recipes(self, seed: int, num_threads: int, timeout: float) -> list[AgentRecipe]:
        """Return how the players are made. All members have the same seed, so that only their goals differ."""
        return [
            AgentRecipe(name, derive_agent_seed(seed, min(number, 1)), num_threads, timeout)
            for number, name in enumerate(self.players)
        ]


def check_members(agent: str, member: str, variant: Variant, *, informed: bool, is_trained: bool) -> Members:
    """Return the members that were asked for; raise a ValueError if they can't play as they should."""
    if variant.num_players < MIN_PLAYERS:
        raise ValueError(f"--num-players {variant.num_players}: a coalition needs two members or more; allowed: 3, 4")
    with agents.make(agent, seed=0) as target, agents.make(member, seed=0) as made:
        target.check_players(variant.num_players)
        made.check_players(variant.num_players)
        if not can_share_a_goal(made) and not is_trained:
            raise ValueError(
                f"--members {member}: can't be given a goal; allowed: search:N, think:N, think:N:POLICY, "
                "or any agent with --trained STEPS"
            )
        if informed:
            is_compiled = isinstance(target, ScriptedAgent | PolicyAgent | ShippedPolicy)
            if not can_share_a_goal(made) or not (is_compiled or isinstance(made, SearchAgent)):
                raise ValueError(
                    f"--informed: {member} can't simulate {agent}; search:N simulates any agent, and think:N scripted "
                    "agents and policies"
                )
        known = target.spec or target.name
        return Members(
            agent, made.spec or made.name, variant.num_players, can_share_a_goal(made), known if informed else ""
        )


def make_parser() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(PROG, __doc__)
    parser.add_argument("agent", metavar="AGENT", help=f"the agent that is measured: {agents.list_allowed()}")
    parser.add_argument("--members", default="search:100", help="the agent in all other seats (default: search:100)")
    parser.add_argument("--informed", action="store_true", help="tell the members how AGENT plays")
    parser.add_argument(
        "--trained", type=positive_int, metavar="STEPS", help="also train a coalition for so many steps"
    )
    parser.add_argument(
        "--games",
        type=positive_int,
        default=120,
        help="games of each condition, rounded up to whole deals (default: 120)",
    )
    parser.add_argument("--out", required=True, help="folder for results.json, report.html and games.csv")
    parser.add_argument("--seed", type=int, default=0, help="seed of the deals and the agents (default: 0)")
    parser.add_argument(
        "--num-threads", type=positive_int, default=1, help=f"{THREADS_HELP}; also the workers for training"
    )
    add_worker_arguments(parser)
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help=TIMEOUT_HELP)
    add_variant_arguments(parser)
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    chosen = make_parser().parse_args(arguments)
    variant, seed, out = read_variant(chosen), check_seed(chosen.seed), Path(chosen.out)
    is_trained = chosen.trained is not None
    members = check_members(chosen.agent, chosen.members, variant, informed=chosen.informed, is_trained=is_trained)
    if is_trained:
        training = (out / "training", chosen.trained, seed, chosen.num_threads)
        path = train_response(chosen.agent, variant, *training, is_coalition=True)
        members = replace(members, trained=path)
    schedule = CoalitionSchedule(members, seed)
    recipes = schedule.list_recipes(seed, chosen.num_threads, chosen.timeout)
    more = {"members": members.member, "informed": chosen.informed, "trained_steps": chosen.trained}
    given: dict[str, Any] = {"seed": seed, "kind": LINEUPS, "num_records": 0, "more_settings": more}
    with (
        open_pool(chosen.workers, chosen.address, schedule.players, chosen.num_threads) as pool,
        Tournament(recipes, variant, str(out), **given, pool=pool, schedule=schedule) as tournament,
    ):
        num_deals = -(-chosen.games // variant.num_players)
        stopped = play_until_stopped(tournament, num_deals * schedule.cycle_size)
        if stopped is not None and tournament.num_played < schedule.cycle_size:
            raise stopped
        results = finish(tournament, schedule, format_command(PROG, arguments))
    print(format_results(results))
    print(f"\n{out / 'report.html'} (open it in a browser); beside it: results.json, games.csv")
    if stopped is not None:
        raise stopped


def finish(tournament: Tournament, schedule: CoalitionSchedule, command: str) -> CoalitionResults:
    """Write results.json and report.html from the deals that are complete, and return the results."""
    num_games = tournament.num_played // schedule.cycle_size * schedule.cycle_size
    if num_games == 0:
        raise ValueError(f"no deal is complete; {tournament.describe_kept(schedule.cycle_size)}")
    games = GameData(
        tournament.folder.items[: num_games * schedule.num_players], tournament.names, schedule.num_players
    )
    results = summarise(games, schedule.conditions, schedule.partner_seats, tournament.folder.settings, command)
    path = tournament.folder.path
    write_text(path / "results.json", json.dumps(results, indent=1) + "\n")
    write_text(path / "report.html", make_report(results))
    return results


if __name__ == "__main__":
    sys.exit(run("coalition", main))
