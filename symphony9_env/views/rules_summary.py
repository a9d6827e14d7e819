"""A summary of the rules for somebody who is about to play: a person or a language model."""

from __future__ import annotations

from textwrap import fill
from typing import Final

from symphony9_env.actions import NAMES, format_actions
from symphony9_env.components import (
    BUDGET_TOKENS,
    CLASSES,
    FURNITURE_POINTS,
    FURNITURE_VALUES,
    PLAYER_COUNT_RULES,
    PLAYER_COUNTS,
    STARTING_MONEY,
    PlayerCountRules,
)
from symphony9_env.rules.state import NUM_ROUNDS
from symphony9_env.views.text import format_classes, format_token

WIDTH: Final = 120  # columns of the list of actions
BOT: Final = """
A bot joins the two of you. After the free cubes each of you takes two cubes for it. Its contribution depends on the
fame of the colour it has most cubes of. It wins every tie for a composition, and it does not score."""


def summarize_rules(num_players: int, discussion: bool = False) -> str:
    """Return what a player must know of the game; `docs/rules.md` has the exact rules."""
    rules = PLAYER_COUNT_RULES[num_players]
    furniture = ", ".join(
        f"${value} or {points} points" for value, points in zip(FURNITURE_VALUES, FURNITURE_POINTS, strict=True)
    )
    ranges = _format_ranges(rules)
    tokens = ", ".join(f"{BUDGET_TOKENS.count(value)} of {format_token(value)}" for value in sorted(set(BUDGET_TOKENS)))
    talk = "   In turn, everybody may announce an amount, which is not binding.\n" if discussion else ""
    bot = BOT if rules.has_bot else ""
    return f"""\
Symphony No. 9: {num_players} patrons sponsor musicians over {NUM_ROUNDS} rounds. Whoever has most points wins.
You start with ${STARTING_MONEY} and three pieces of furniture ({furniture}).
Money and furniture are hidden; payments are public. You may sell furniture whenever you have a decision to make.{bot}

Each round:
1. Sponsoring. In turn, everybody takes two free cubes from any musicians' career tracks. Then each may pay $4 for one
   more cube, and after that $8 for another. Taking cubes uncovers spaces of a track, which changes the musician's
   reputation. A musician whose last cube has been taken dies at the end of the round.
2. Compositions. For each living musician, whoever has most of his cubes receives a composition by him and gives up
   half of those cubes, rounded down. A tie goes to the player nearest to the start player, clockwise.
3. Ranking. Musicians are ranked by reputation, then by the number of uncovered spaces. The first is of high fame,
   the last two are of low fame, and the others of medium fame.
4. Concert. A budget token is revealed (there are {tokens}; one of them in each of the six rounds).
{talk}   Then everybody secretly contributes $0 to ${rules.limit}, in coins or as one piece of furniture and coins.
   The contributions and the token add up to the total, which decides the class of the concert:
   {ranges}.
   If the total is in one of these ranges, the concert takes place: everybody pays the contribution, the musicians of
   that fame pay you for every cube of theirs that you hold, and you give up one cube of each colour that paid.
   Whoever contributed most gets a bonus: low class, keep one of those cubes; medium class, $5; high class, a cube
   from any track.
   If the total is outside all ranges, the concert fails and nobody pays. If it was too much, those who contributed
   most are punished; if it was too little, those who contributed least. Each gives up one cube, from round 4 on two.

At the end, compositions score by the scoring tile of their musician: the more compositions of a colour you have, the
higher is your level (1, 2 or 3) and the more points the tile gives for each thing that it counts. You also score unsold
furniture, one point for each full $3, and one point for each composition by a dead musician. A tie goes to the player
with more compositions."""


def summarize_rules_and_actions() -> str:
    """Return the rules for every number of players, and all actions: the documentation that a module can show."""
    others = []
    for num_players in PLAYER_COUNTS[:-1]:
        rules = PLAYER_COUNT_RULES[num_players]
        bot = BOT.replace("\n", " ") if rules.has_bot else ""
        others.append(
            f"With {num_players} players, everybody contributes $0 to ${rules.limit}, and the ranges are: "
            f"{_format_ranges(rules)}.{bot}"
        )
    rules_of_four = summarize_rules(PLAYER_COUNTS[-1], discussion=True)
    actions = f"The actions, by number and name: {format_actions(range(len(NAMES)))}."
    return "\n\n".join([rules_of_four, *others, fill(actions, WIDTH)])


def _format_ranges(rules: PlayerCountRules) -> str:
    return format_classes(zip(CLASSES, rules.class_from, rules.class_to, rules.income, strict=True))
