"""The rules in brief, for somebody who is about to play: a person, or a language model."""

from __future__ import annotations

from typing import Final

from symphony9_env.components import (
    BUDGET_TOKENS,
    CLASSES,
    FURNITURE_POINTS,
    FURNITURE_VALUES,
    PLAYER_COUNT_RULES,
    STARTING_MONEY,
)
from symphony9_env.rules.state import NUM_ROUNDS

BOT: Final = """
A bot joins the two of you: after the free cubes each of you takes two cubes for it; it contributes by the fame of
the colour it has most cubes of, wins every tie for a composition, and is not scored."""


def summarize_rules(num_players: int, discussion: bool = False) -> str:
    """What a player must know of the game; `docs/rules.md` tells it exactly."""
    rules = PLAYER_COUNT_RULES[num_players]
    furniture = ", ".join(
        f"${value} or {points} points" for value, points in zip(FURNITURE_VALUES, FURNITURE_POINTS, strict=True)
    )
    ranges = ", ".join(
        f"{name} {low}-{high} (${income} a cube)"
        for name, low, high, income in zip(CLASSES, rules.class_from, rules.class_to, rules.income, strict=True)
    )
    tokens = ", ".join(f"{BUDGET_TOKENS.count(value)} of {value:+d}" for value in sorted(set(BUDGET_TOKENS)))
    talk = " Everybody in turn may announce an amount, which binds nobody." if discussion else ""
    bot = BOT if rules.has_bot else ""
    return f"""\
Symphony No. 9: {num_players} patrons sponsor musicians over {NUM_ROUNDS} rounds. Most points win.
You have ${STARTING_MONEY} and three pieces of furniture ({furniture}).
Money and furniture are hidden, payments are public. Furniture can be sold whenever you are asked for a decision.{bot}

Each round:
1. Sponsor. In turn everybody takes two cubes, free, from any musicians' career tracks; then each may pay $4 for
   one more cube; then each may pay $8 for one more. Taking cubes uncovers spaces of a track, which changes that
   musician's reputation. A musician whose last cube is taken is dead from the end of the round.
2. Compositions. For each living musician, whoever has most of his cubes gets a composition of his and gives up
   half of those cubes, rounded down. Ties: nearest to the start player clockwise.
3. Ranking by reputation, then by how far the track is uncovered. The first is of high fame, the last two of low
   fame, the others of medium.
4. Concert. A budget token is shown ({tokens}; six of them come).{talk}
   Then everybody secretly contributes $0 to ${rules.limit}, in coins or one piece of furniture and coins.
   Contributions and token make the total: {ranges}.
   In a range, the concert takes place: all pay what they contributed, the musicians of that fame pay for every cube
   of theirs you hold, and you give up one cube of each colour that paid. Whoever contributed most gets a bonus: low,
   keep one of those cubes; medium, $5; high, a cube from any track.
   Outside all ranges it fails and nobody pays: if too much, those who gave most are punished, if too little, those
   who gave least. Each gives up one cube, two from round 4 on.

At the end compositions score by the tile at their musician: the more compositions of a colour you have, the higher
your level (1, 2, 3) and the more its tile gives for each thing it counts. You also score unsold furniture, one
point for each full $3, and one for each composition of a dead musician. Ties: most compositions."""
