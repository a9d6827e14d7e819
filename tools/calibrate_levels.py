"""Calibrate `level:1` … `level:10` for the shipped policies: write levels.json, and its tables to docs/agents.md.

    python -m tools.calibrate_levels
    python -m tools.calibrate_levels --num-players 2     (the other player counts stay as they are)

Run it whenever a shipped policy changes; a test fails until then. For each number of players:

1. The neutral values are the averages of the policy's observations in games against itself.
2. A tournament of policies with different weaknesses, `random` and `greedy` gives a first curve of ratings. `level:1`,
   the beginner, is where that curve is in the middle between `random` and `greedy`.
3. The levels in between are placed at equal steps on the curve. A tournament of the ten levels on other deals gives a
   better curve. This is done several times; the curve is fitted to all of these tournaments.
4. The levels are then fixed, and measured on deals that were not used before: the ratings, steps and win rates in
   levels.json and in the tables. The games of the ratings are those of
   `symphony9 tournament --agents level:1,level:2,… --seed CHECK_SEED`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env import agents
from symphony9_env.agents import Agent
from symphony9_env.agents.base import StoredPositions, derive_agent_seed
from symphony9_env.agents.levels import BLIND_SPOTS, DATA, LEVELS, NUM_LEVELS, TEMPERATURE, find_neutral, weaken
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy
from symphony9_env.arena.console import positive_int
from symphony9_env.arena.matches import Schedule, ScheduledGame, deal_games, play, play_against
from symphony9_env.arena.ratings import (
    AVERAGE,
    COVERAGE,
    ELO,
    Choices,
    Estimate,
    count_choices,
    fit_strengths,
    win_rate,
)
from symphony9_env.arguments import Parser, run
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.engine import play_rows
from symphony9_env.files import write_text
from symphony9_env.options import Variant
from symphony9_env.processes import count_cores
from symphony9_env.rules.state import OVER
from symphony9_env.scores import score_sheet
from symphony9_env.views import observation_size
from symphony9_env.views.vector import observe
from tools.docs_tables import format_rows, replace_table

PAGE: Final = Path(__file__).parent.parent / "docs" / "agents.md"
SEED: Final = 100  # of the calibration; each further round of it has the next seed
CHECK_SEED: Final = 5151  # of the deals on which the calibrated levels are measured
GRID: Final = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.3, 1.6, 2)  # the weaknesses of the first curve
BOUNDS: Final = ("random", "greedy")  # the beginner is in the middle between these
NUM_ROUNDS: Final = 3  # of tournaments of ten levels
DEGREE: Final = 3  # of the curve of ratings
NEUTRAL_GAMES: Final = 200
GAMES: Final = 24_000
RESAMPLES: Final = 500
BATCH: Final = 4000  # games that are played side by side

Floats = NDArray[np.float64]
Round = tuple[Sequence[float], Floats]  # the weaknesses of policies, and their ratings in a tournament


class Calibration:
    """Calibrates the levels of one number of players."""

    def __init__(self, num_players: int, num_games: int) -> None:
        self.num_players = num_players
        self.num_games = num_games
        self.variant = Variant(num_players=num_players)
        self.policy = ShippedPolicy(0).for_players(num_players)
        self.neutral = find_neutral(self._average_observation(), self.policy.card.ledger)

    def run(self) -> dict[str, Any]:
        """Return the entry of levels.json for this number of players."""
        weaknesses = self._place_first()
        rounds: list[Round] = []
        for seed in range(SEED + 1, SEED + 1 + NUM_ROUNDS):
            ratings = self._rate(self._make_levels(weaknesses, seed), self.num_games // 2, seed)
            self._report(f"seed {seed}", weaknesses, ratings)
            rounds.append((weaknesses, ratings))
            weaknesses = place_levels(fit_curve(rounds), weaknesses[0])
        return self.measure(weaknesses)

    def _average_observation(self) -> Floats:
        """Return the average observation of the seat to decide, in games of the policy against itself."""
        games = [ScheduledGame(number, number, number, ()) for number in range(NEUTRAL_GAMES)]
        positions = StoredPositions.of(deal_games(games, self.variant))
        observation = np.zeros(observation_size(self.policy.card.ledger), np.float32)
        total, count = np.zeros(len(observation)), 0
        rows = np.arange(NEUTRAL_GAMES)
        while len(rows):
            for row in rows.tolist():
                observe(positions.states, row, int(positions.states["player"][row]), observation)
                total += observation
            count += len(rows)
            moves = self.policy.decide(positions, rows)
            play_rows(positions.states, rows, moves, positions.history, positions.length)
            rows = rows[positions.states["phase"][rows] != OVER]
        return total / count

    def _make_levels(self, weaknesses: Sequence[float], seed: int) -> list[Agent]:
        """Return policies of these weaknesses, with the seeds that a tournament would give them."""
        card, weights = self.policy.card, self.policy.weights
        return [
            weaken(PolicyAgent("level", card, weights, derive_agent_seed(seed, number)), weakness, self.neutral)
            for number, weakness in enumerate(weaknesses)
        ]

    def _place_first(self) -> list[float]:
        """Return the first weaknesses of the levels."""
        bounds = [agents.make(name, derive_agent_seed(SEED, number)) for number, name in enumerate(BOUNDS, len(GRID))]
        ratings = self._rate([*self._make_levels(GRID, SEED), *bounds], self.num_games // 4, SEED)
        self._report("grid", GRID, ratings)
        curve = fit_curve([(GRID, ratings[: len(GRID)])])
        strongest = np.mean(ratings[: len(GRID)] - read_curve(curve, np.array(GRID, float)))
        distance = np.mean(ratings[-len(BOUNDS) :]) - strongest
        fine = np.linspace(GRID[-1], 0, 1001)
        strengths = np.maximum.accumulate(read_curve(curve, fine))
        if strengths[0] > distance:
            raise ValueError(f"{self.num_players} players: a policy of weakness {GRID[-1]} is stronger than a beginner")
        return place_levels(curve, float(np.interp(distance, strengths, fine)))

    def _rate(self, players: Sequence[Agent], num_games: int, seed: int) -> Floats:
        choices = self._play(players, num_games, seed)
        strengths = fit_strengths(choices, np.ones((1, len(choices.counts))))[0]
        return np.asarray(AVERAGE + ELO * strengths)

    def _play(self, players: Sequence[Agent], num_games: int, seed: int) -> Choices:
        """Play a tournament of all groups of these agents."""
        schedule = Schedule(len(players), self.num_players, seed)
        games = [schedule.game(number) for number in range(schedule.round_up_to_cycles(num_games))]
        seated, ranks = [], []
        for start in range(0, len(games), BATCH):
            for played in play(games[start : start + BATCH], players, self.variant):
                seated.append(played.game.agents)
                ranks.append([line.rank for line in score_sheet(played.final).values()])
        deals = np.unique([game.deal for game in games], return_inverse=True)[1]
        return count_choices(np.array(seated), np.array(ranks), deals, len(players))

    def measure(self, weaknesses: Sequence[float]) -> dict[str, Any]:
        """Measure the levels on other deals."""
        levels = self._make_levels(weaknesses, CHECK_SEED)
        choices = self._play(levels, self.num_games, CHECK_SEED)
        num_deals = len(choices.counts)
        drawn = np.random.default_rng(0).multinomial(num_deals, np.full(num_deals, 1 / num_deals), RESAMPLES)
        value, resampled = (ELO * fit_strengths(choices, w) for w in (np.ones((1, num_deals)), drawn.astype(float)))
        self._report("measured", weaknesses, AVERAGE + value[0])
        entries: list[dict[str, Any]] = []
        for number, weakness in enumerate(weaknesses):
            entry = {"level": number + 1, "weakness": weakness}
            entry |= _describe("rating", AVERAGE + value[0, number], AVERAGE + resampled[:, number])
            if number:
                lower = number - 1
                steps = resampled[:, number] - resampled[:, lower]
                entry |= _describe("step", value[0, number] - value[0, lower], steps)
                entry |= _describe_rate("wins_against_lower", self._win_rate(levels[number], levels[lower]))
            entries.append(entry)
        beginner: dict[str, Any] = {}
        for name in BOUNDS:
            beginner |= _describe_rate(f"wins_against_{name}", self._win_rate(levels[0], agents.make(name, CHECK_SEED)))
        return {
            "policy": agents.make(agents.SHIPPED, 0).fingerprint(self.num_players),
            "games": int(num_deals * self.num_players),
            "beginner": beginner,
            "levels": entries,
            "neutral": self.neutral,
        }

    def _win_rate(self, agent: Agent, opponent: Agent) -> Estimate:
        return win_rate(*play_against(agent, opponent, self.variant, self.num_games // 10, CHECK_SEED + 1))

    def _report(self, what: str, weaknesses: Sequence[float], ratings: Floats) -> None:
        pairs = ", ".join(f"{w:g}: {rating:.0f}" for w, rating in zip(weaknesses, ratings, strict=False))
        print(f"{self.num_players} players, {what}: {pairs}", file=sys.stderr, flush=True)


def fit_curve(rounds: Sequence[Round]) -> Floats:
    """Return the coefficients of a smooth curve of ratings over weaknesses, by least squares over all rounds.

    Ratings are known up to a constant in each round, so each has a constant of its own, and the curve is 0 at 0.
    """
    number = np.repeat(np.arange(len(rounds)), [len(weaknesses) for weaknesses, _ in rounds])
    terms = _list_terms(np.concatenate([np.asarray(weaknesses, float) for weaknesses, _ in rounds]))
    constants = np.eye(len(rounds))[number]
    ratings = np.concatenate([ratings for _, ratings in rounds])
    found = np.linalg.lstsq(np.concatenate([terms, constants], axis=1), ratings, rcond=None)[0]
    return np.asarray(found[: terms.shape[1]])


def read_curve(curve: Floats, weaknesses: Floats) -> Floats:
    """Return the ratings on a curve, compared with that at a weakness of 0."""
    return np.asarray(_list_terms(weaknesses) @ curve)


def _list_terms(weaknesses: Floats) -> Floats:
    """Return the terms of the curve: powers, and kinks where a blind spot is complete and another begins.

    Ratings change little where the weakness is great, so the powers are those of a bent scale.
    """
    bent = weaknesses / (weaknesses + 0.5)
    powers = [bent**power for power in range(1, DEGREE + 1)]
    return np.stack(powers + [np.maximum(weaknesses - spot.end, 0) for spot in BLIND_SPOTS], axis=1)


def place_levels(curve: Floats, bottom: float) -> list[float]:
    """Return the weaknesses of ten levels at equal steps on a curve, from `bottom` to 0."""
    fine = np.linspace(bottom, 0, 1001)
    strengths = np.maximum.accumulate(read_curve(curve, fine))
    placed = np.interp(np.linspace(strengths[0], strengths[-1], NUM_LEVELS), strengths, fine)
    placed[0], placed[-1] = bottom, 0
    return [round(float(weakness), 4) for weakness in placed]


def _describe(name: str, value: float, resampled: Floats) -> dict[str, Any]:
    ends = np.quantile(resampled, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return {name: round(float(value), 1), f"{name}_95": [round(float(end), 1) for end in ends]}


def _describe_rate(name: str, rate: Estimate) -> dict[str, Any]:
    return {name: round(rate.value, 4), f"{name}_95": [round(end, 4) for end in rate.interval()]}


# The file and the tables.


def format_data(value: Any, indent: str = "\n") -> str:
    """Return JSON text in which only objects and lists that contain other objects take several lines.

    >>> print(format_data({"seed": 1, "levels": [{"level": 1}, {"level": 2}]}))
    {
     "seed": 1,
     "levels": [
      {"level": 1},
      {"level": 2}
     ]
    }
    """
    if isinstance(value, dict) and any("{" in json.dumps(item) for item in value.values()):
        inside, ends = [f"{json.dumps(key)}: {format_data(item, indent + ' ')}" for key, item in value.items()], "{}"
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        inside, ends = [format_data(item, indent + " ") for item in value], "[]"
    else:
        return json.dumps(value)
    return f"{ends[0]}{indent} {f',{indent} '.join(inside)}{indent}{ends[1]}"


def format_levels(calibrated: dict[str, Any]) -> str:
    """Return the table of the levels of one number of players."""
    spots = " | ".join(f"sees of {spot.meaning}" for spot in BLIND_SPOTS)
    rows = []
    for entry in calibrated["levels"]:
        weakness = entry["weakness"]
        rows.append(
            (
                f"`{LEVELS[entry['level'] - 1]}`",
                f"{weakness:.2f}",
                f"{TEMPERATURE * weakness:.1f}",
                *(f"{100 * spot.attention(weakness):.0f} %" for spot in BLIND_SPOTS),
                _format(entry, "rating", 1, 0),
                _format(entry, "step", 1, 0),
                _format(entry, "wins_against_lower", 100, 1),
            )
        )
    head = f"| level | weakness | temperature | {spots} | rating (95 %) | step | wins against the next lower level, % |"
    return format_rows(head, rows)


def format_beginner(levels: dict[str, Any]) -> str:
    """Return the table of what the beginner wins."""
    rows = [
        (count, str(entry["games"]), *(_format(entry["beginner"], f"wins_against_{name}", 100, 1) for name in BOUNDS))
        for count, entry in levels["players"].items()
    ]
    head = " | ".join(f"`level:1` wins against `{name}`, %" for name in BOUNDS)
    return format_rows(f"| players | games of the ratings | {head} |", rows)


def _format(entry: dict[str, Any], name: str, unit: float, digits: int) -> str:
    if name not in entry:
        return ""
    low, high = (unit * end for end in entry[f"{name}_95"])
    return f"{unit * entry[name]:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def regenerate(text: str, levels: dict[str, Any]) -> str:
    """Return the page docs/agents.md with the tables of the levels generated again."""
    for count, entry in levels["players"].items():
        text = replace_table(text, f"levels {count}", format_levels(entry))
    return replace_table(text, "beginner", format_beginner(levels))


def _calibrate(num_players: int, num_games: int) -> dict[str, Any]:
    return Calibration(num_players, num_games).run()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = Parser(prog="python -m tools.calibrate_levels", description=__doc__)
    parser.add_argument("--num-players", type=int, choices=PLAYER_COUNTS, help="only this number (default: all)")
    parser.add_argument("--games", type=positive_int, default=GAMES, help=f"games of a measurement (default: {GAMES})")
    chosen = parser.parse_args(arguments)
    counts = [chosen.num_players] if chosen.num_players else sorted(PLAYER_COUNTS, reverse=True)  # the longest first
    with ProcessPoolExecutor(count_cores(), get_context("spawn")) as pool:
        entries = pool.map(_calibrate, counts, [chosen.games] * len(counts))
        found = dict(zip(map(str, counts), entries, strict=True))
    before = json.loads(DATA.read_text(encoding="utf-8"))["players"] if DATA.exists() else {}
    levels = {
        "command": "python -m tools.calibrate_levels" + (f" --games {chosen.games}" if chosen.games != GAMES else ""),
        "seed": SEED,
        "check_seed": CHECK_SEED,
        "players": dict(sorted((before | found).items())),
    }
    write_text(DATA, format_data(levels) + "\n")
    write_text(PAGE, regenerate(PAGE.read_text(encoding="utf-8"), levels))


if __name__ == "__main__":
    sys.exit(run("calibrate_levels", main))
