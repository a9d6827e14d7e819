"""Golden playthroughs: whole games as readable text, to be reviewed as differences.

    python -m tools.golden     (or: make golden)

writes them anew after a change of the rules or of the deal. `test_golden.py` compares them, and fails if the
games together miss a phase, bonus, penalty or scoring tile side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from symphony9_env.actions import NAMES
from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import OptionValues
from tests.scenarios import decision, legal, money, see

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Game:
    """What is played: between them the games use every scoring tile side in both columns."""

    name: str
    seed: int
    options: OptionValues


GAMES = (
    Game("4p_first_game", 45, {"num_players": 4, "scoring": "A"}),
    Game("4p_discussion", 60, {"num_players": 4, "scoring": "B", "tracks": "random", "discussion": True}),
    Game("3p", 31, {"num_players": 3, "scoring": "B"}),
    Game("2p", 5, {"num_players": 2, "scoring": "A", "tracks": "random"}),
)


@dataclass
class Playthrough:
    """The text of a game, and what was reached in it."""

    lines: list[str] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def choose(names: list[str], rng: np.random.Generator) -> str:
    """Mostly sensible: seldom sells or passes, bids about its share, so that concerts of all kinds come up."""
    weights = [_weight(name) for name in names]
    return str(rng.choice(names, p=np.array(weights) / sum(weights)))


def _weight(name: str) -> float:
    kind, _, rest = name.partition(" ")
    if kind == "bid":
        return 3.0 if rest[0] in "2345" else 1.0
    return {"sell": 0.15, "pass": 0.8}.get(kind, 1.0)


def play(game: Game) -> Playthrough:
    env = RawEnv(**game.options)
    env.reset(seed=game.seed)
    rng = np.random.default_rng(game.seed)
    story = Playthrough()
    _tell_deal(story, env, game)
    while decision(env)[1] != "over":
        _tell_move(story, env, choose(legal(env), rng))
    _tell_result(story, env)
    return story


def _tell_deal(story: Playthrough, env: RawEnv, game: Game) -> None:
    setup = env.record()["setup"]
    story.lines.append(f"{game.name}: seed {game.seed}, {game.options}")
    story.lines.append(f"budget {setup['budget']}" + (f", bot {setup['bot_tiles']}" if "bot_tiles" in setup else ""))
    for name, track in setup["tracks"].items():
        spaces = "  ".join(f"{reputation}:{cubes}" for reputation, cubes in track)
        story.lines.append(f"{name:10} {setup['scoring'][name]}   {spaces}")
    story.lines.append(f"starting cubes {setup['starting_cubes']}")
    _tell_round(story, env)


def _tell_round(story: Playthrough, env: RawEnv) -> None:
    view = see(env, 0)
    story.lines.append(f"\n--- round {view.round}, {view.start_player} starts, money {money(env)}")


def _tell_move(story: Playthrough, env: RawEnv, name: str) -> None:
    before = see(env, 0, ledger=True)
    player, asked = decision(env)
    numbers = " ".join(str(number) for number in before.legal or see(env, int(player[-1])).legal)
    story.lines.append(f"{player} {asked:12} {name:16} of {numbers}")
    story.reached |= {asked, f"{asked}: {name.split(maxsplit=1)[0]}"}
    env.step(NAMES.index(name))
    after = see(env, 0, ledger=True)
    if asked == "buy_8" and after.decision != "buy_8":
        _tell_compositions(story, env)
    if asked == "bid" and after.decision != "bid":
        _tell_concert(story, env)
    if after.round != before.round:
        _tell_dead(story, env)
        _tell_round(story, env)
    if asked != "sell" and after.decision in ("sell", "over"):
        _tell_dead(story, env)
        story.lines.append(f"\n--- after round 6, money {money(env)}")


def _tell_compositions(story: Playthrough, env: RawEnv) -> None:
    view = see(env, 0)
    for board in sorted(view.boards, key=lambda board: board.name):
        cubes = [a + b for a, b in zip(board.earlier_cubes, board.new_cubes, strict=True)]
        story.lines.append(f"    {board.name:9} compositions {list(board.compositions)} cubes {cubes}")
    ranked = sorted(view.musicians, key=lambda musician: musician.rank)
    story.lines.append("    ranking " + ", ".join(f"{m.name} {m.reputation} {m.fame}" for m in ranked))
    story.lines.append(f"    budget token {view.budget_token}")


def _tell_concert(story: Playthrough, env: RawEnv) -> None:
    view = see(env, 0)
    gave = {board.name: board.last_contribution for board in view.boards}
    performing = ", ".join(view.performing) or "nobody"
    story.lines.append(f"    hands {gave}: total {view.total}, {view.outcome}, {performing} performs")
    half = "rounds 1-3" if view.round <= 3 else "rounds 4-6"
    story.reached.add(f"concert: {view.outcome}")
    if view.outcome in ("too little", "too much") and view.decision == "discard":
        story.reached.add(f"penalty: {view.outcome}, {half}")


def _tell_dead(story: Playthrough, env: RawEnv) -> None:
    dead = [musician.name for musician in see(env, 0).musicians if musician.is_dead]
    story.lines.append(f"    dead: {', '.join(dead) or 'nobody'}")
    if dead:
        story.reached.add("death")


def _tell_result(story: Playthrough, env: RawEnv) -> None:
    view = see(env, 0)
    assert view.score_sheet is not None
    story.lines.append("")
    for player, line in view.score_sheet.items():
        cells = " ".join(f"{source} {round(value, 3):g}" for source, value in line.breakdown.items())
        story.lines.append(f"{player} {round(line.total, 3):g}: {cells}")
    winners = [player for player, line in view.score_sheet.items() if line.rank == 1]
    story.lines.append(f"winners: {', '.join(winners)}")
    column = "4" if view.num_players == 4 else "2-3"
    for musician in view.musicians:
        if any(line.breakdown[musician.name] for line in view.score_sheet.values()):
            story.reached.add(f"tile {musician.scoring_tile} ({column} players)")


def must_reach() -> set[str]:
    """Every phase, bonus, penalty, way to end and scoring tile side."""
    asked = ["take", "take_for_bot", "buy_4", "buy_8", "announce", "bid", "keep", "bonus", "discard", "sell"]
    choices = ["take: take", "take_for_bot: take", "bonus: take", "discard: discard", "bid: bid"]
    choices += [f"{step}: {choice}" for step in ("buy_4", "buy_8") for choice in ("take", "pass", "sell")]
    choices += ["keep: keep", "keep: pass", "announce: announce", "announce: pass", "sell: sell", "sell: pass"]
    concerts = [f"concert: {outcome}" for outcome in ("low", "medium", "high", "too little", "too much")]
    penalties = [
        f"penalty: {outcome}, {half}" for outcome in ("too little", "too much") for half in ("rounds 1-3", "rounds 4-6")
    ]
    tiles = [f"tile {number}{side} (4 players)" for number in range(1, 7) for side in "AB"]
    tiles += [f"tile {number}{side} (2-3 players)" for number in range(1, 6) for side in "AB"]
    return {*asked, *choices, *concerts, *penalties, *tiles, "death"}


def main() -> None:
    for game in GAMES:
        path = FOLDER / f"{game.name}.txt"
        path.write_text(play(game).text)
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
