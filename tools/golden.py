"""Golden playthroughs: whole games as readable text, so that a change of the rules shows up as a difference.

    python -m tools.golden     (or: make golden)

writes them to tests/golden again after a change of the rules or of the deal. `tests/golden/test_golden.py` compares
them, and fails if the games together miss a phase, bonus, penalty or scoring tile side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from symphony9_env.actions import NAMES
from symphony9_env.arguments import Parser
from symphony9_env.components import SCORING_TILES
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event, EventBuffer, opening_events
from symphony9_env.names import BOT_NAME, agent_name
from symphony9_env.options import OptionValues
from symphony9_env.rules.state import DECISIONS, OUTCOMES, game_at
from symphony9_env.scores import winners
from symphony9_env.views import SeatView, seat_view

FOLDER = Path(__file__).parent.parent / "tests" / "golden"


@dataclass(frozen=True)
class GoldenGame:
    """A deal to be played: the games together use every scoring tile side in both columns."""

    name: str
    seed: int
    options: OptionValues


GAMES = (
    GoldenGame("4p_first_game", 45, {"num_players": 4, "scoring": "A"}),
    GoldenGame("4p_discussion", 60, {"num_players": 4, "scoring": "B", "tracks": "random", "discussion": True}),
    GoldenGame("3p", 31, {"num_players": 3, "scoring": "B"}),
    GoldenGame("2p", 5, {"num_players": 2, "scoring": "A", "tracks": "random"}),
)


@dataclass
class Playthrough:
    """The text of a game, and which phases, outcomes and scoring tiles occurred in it."""

    lines: list[str] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def play(game: GoldenGame) -> Playthrough:
    """Play a game with random moves and write it down."""
    env = RawEnv(**game.options)
    env.event_buffer = EventBuffer()
    env.reset(seed=game.seed)
    rng = np.random.default_rng(game.seed)
    playthrough = Playthrough()
    _write_deal(playthrough, env, game)
    _write_events(playthrough, env, opening_events(env.states))
    while env.decision != "over":
        action = NAMES.index(choose([NAMES[number] for number in np.flatnonzero(env.action_mask)], rng))
        _write_move(playthrough, env, action)
        env.step(action)
        _write_events(playthrough, env, env.event_buffer.read())
    _write_result(playthrough, _public_view(env))
    return playthrough


def choose(names: list[str], rng: np.random.Generator) -> str:
    """Choose a mostly sensible move: seldom sell or pass, bid about one's share, so that all outcomes occur."""
    weights = [_weight(name) for name in names]
    return str(rng.choice(names, p=np.array(weights) / sum(weights)))


def _weight(name: str) -> float:
    kind, _, rest = name.partition(" ")
    if kind == "bid":
        return 3.0 if rest[0] in "2345" else 1.0
    return {"sell": 0.15, "pass": 0.8}.get(kind, 1.0)


def _public_view(env: RawEnv) -> SeatView:
    return seat_view(env.states, 0, 0)


def _write_deal(playthrough: Playthrough, env: RawEnv, game: GoldenGame) -> None:
    setup = env.record()["setup"]
    bot = f", bot {setup['bot_tiles']}" if "bot_tiles" in setup else ""
    tracks = {
        name: "  ".join(f"{reputation}:{cubes}" for reputation, cubes in track)
        for name, track in setup["tracks"].items()
    }
    playthrough.lines += [
        f"{game.name}: seed {game.seed}, {game.options}",
        f"budget {setup['budget']}{bot}",
        *(f"{name:10} {setup['scoring'][name]}   {track}" for name, track in tracks.items()),
        f"starting cubes {setup['starting_cubes']}",
    ]


def _write_move(playthrough: Playthrough, env: RawEnv, action: int) -> None:
    name, legal = NAMES[action], " ".join(str(number) for number in np.flatnonzero(env.action_mask))
    playthrough.lines.append(f"{env.agent_selection} {env.decision:12} {name:16} of {legal}")
    playthrough.reached |= {env.decision, f"{env.decision}: {name.split(maxsplit=1)[0]}"}


def _write_events(playthrough: Playthrough, env: RawEnv, events: list[Event]) -> None:
    """Write what a move set off. The state is the one after the move, at which its events end."""
    money = game_at(env.states).money[: env.options.num_players].tolist()
    for event in events:
        if event.kind == "budget_revealed":
            _write_sponsoring(playthrough, _public_view(env), event)
        elif event.kind == "concert_resolved":
            _write_concert(playthrough, env, event, events)
        elif event.kind == "round_started":
            if event.amount != 1:
                _write_dead(playthrough, _public_view(env))
            playthrough.lines.append(f"\n--- round {event.amount}, {agent_name(event.board)} starts, money {money}")
        elif event.kind == "last_sales_started":
            _write_dead(playthrough, _public_view(env))
            playthrough.lines.append(f"\n--- after round 6, money {money}")


def _write_sponsoring(playthrough: Playthrough, view: SeatView, token: Event) -> None:
    """Write the boards, the ranking and the token once the compositions have been awarded."""
    for board in sorted(view.boards, key=lambda board: board.name):
        cubes = [a + b for a, b in zip(board.earlier_cubes, board.new_cubes, strict=True)]
        playthrough.lines.append(f"    {board.name:9} compositions {list(board.compositions)} cubes {cubes}")
    ranked = sorted(view.musicians, key=lambda musician: musician.rank)
    ranking = ", ".join(f"{m.name} {m.reputation} {m.fame}" for m in ranked)
    playthrough.lines += [f"    ranking {ranking}", f"    budget token {token.amount}"]


def _write_concert(playthrough: Playthrough, env: RawEnv, concert: Event, events: list[Event]) -> None:
    names = (*env.possible_agents, BOT_NAME)
    hands = {names[e.board]: (e.amount, e.furniture) for e in events if e.kind == "hand_opened" and e.board is not None}
    performing = ", ".join(str(e.musician) for e in events if e.kind == "musician_performed") or "nobody"
    playthrough.lines.append(f"    hands {hands}: total {concert.amount}, {concert.outcome}, {performing} performs")
    playthrough.reached.add(f"concert: {concert.outcome}")
    if any(e.kind == "penalty_imposed" and e.amount for e in events):
        half = "rounds 1-3" if _public_view(env).round <= 3 else "rounds 4-6"
        playthrough.reached.add(f"penalty: {concert.outcome}, {half}")


def _write_dead(playthrough: Playthrough, view: SeatView) -> None:
    dead = [musician.name for musician in view.musicians if musician.is_dead]
    playthrough.lines.append(f"    dead: {', '.join(dead) or 'nobody'}")
    if dead:
        playthrough.reached.add("death")


def _write_result(playthrough: Playthrough, view: SeatView) -> None:
    assert view.score_sheet is not None
    playthrough.lines.append("")
    for player, line in view.score_sheet.items():
        cells = " ".join(f"{source} {round(value, 3):g}" for source, value in line.breakdown.items())
        playthrough.lines.append(f"{player} {round(line.total, 3):g}: {cells}")
    playthrough.lines.append(f"winners: {', '.join(winners(view.score_sheet))}")
    column = "4" if view.num_players == 4 else "2-3"
    playthrough.reached |= {
        f"tile {musician.scoring_tile} ({column} players)"
        for musician in view.musicians
        if any(line.breakdown[musician.name] for line in view.score_sheet.values())
    }


def must_reach() -> set[str]:
    """Return every phase, bonus, penalty, outcome and scoring tile side that the games must reach together."""
    choices = ["take: take", "take_for_bot: take", "bonus: take", "discard: discard", "bid: bid"]
    choices += [f"{phase}: {choice}" for phase in ("buy_4", "buy_8") for choice in ("take", "pass", "sell")]
    choices += ["keep: keep", "keep: pass", "announce: announce", "announce: pass", "sell: sell", "sell: pass"]
    concerts = [f"concert: {outcome}" for outcome in OUTCOMES]
    penalties = [
        f"penalty: {outcome}, {half}" for outcome in ("too little", "too much") for half in ("rounds 1-3", "rounds 4-6")
    ]
    tiles = [f"tile {tile} (4 players)" for tile in SCORING_TILES]
    tiles += [f"tile {tile} (2-3 players)" for tile in SCORING_TILES if not tile.startswith("6")]
    return {*DECISIONS, *choices, *concerts, *penalties, *tiles, "death"} - {"over"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    Parser(prog="python -m tools.golden", description=__doc__).parse_args(arguments)
    for game in GAMES:
        path = FOLDER / f"{game.name}.txt"
        path.write_text(play(game).text, encoding="utf-8", newline="\n")
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
