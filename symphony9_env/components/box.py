# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The facts printed on the components and in the rulebook, read from `box.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


_BOX: Final = _read("box.toml")

MUSICIANS: Final[tuple[str, ...]] = tuple(_BOX["musicians"])
MUSICIAN_INDEX: Final[dict[str, int]] = {name: row for row, name in enumerate(MUSICIANS)}
STARTING_MONEY: Final[int] = _BOX["starting_money"]
FURNITURE_VALUES: Final[tuple[int, ...]] = tuple(_BOX["furniture"]["values"])
FURNITURE_POINTS: Final[tuple[int, ...]] = tuple(_BOX["furniture"]["points"])
BUDGET_TOKENS: Final[tuple[int, ...]] = tuple(_BOX["budget"]["tokens"])

SCORING_TILES: Final[tuple[str, ...]] = tuple(_BOX["scoring"])  # "1A", "1B", "2A" ... "6B"
SCORING_METHODS: Final[tuple[str, ...]] = tuple(dict.fromkeys(tile["method"] for tile in _BOX["scoring"].values()))
CLASSES: Final = ("low", "medium", "high")

# Career tracks and bot tiles, of the shipped file and of others (tracks.py).
SIDES: Final = ("A", "B")
MAX_SPACES: Final = 8
MAX_REPUTATION: Final = 9
MAX_TRACK_CUBES: Final = 19  # there are 20 of each colour, and one is dealt to a player at the start
NUM_BOT_TILES: Final = 3
MAX_BOT_AMOUNT: Final = 99  # so that a concert's total fits the 8 bits in which it is added up


@dataclass(frozen=True)
class PlayerCountRules:
    """What depends on the number of players: the concert board, the set-up and the scoring tiles' column."""

    num_players: int
    num_musicians: int
    limit: int  # the most one player may contribute
    class_from: tuple[int, ...]  # lowest total of a low, medium, high class concert
    class_to: tuple[int, ...]  # highest total
    income: tuple[int, ...]  # dollars per cube
    starting_cubes: tuple[int, ...]  # clockwise from the start player; the bot's last
    scoring_column: str

    @property
    def has_bot(self) -> bool:
        """Whether a bot plays along."""
        return len(self.starting_cubes) > self.num_players

    @property
    def num_boards(self) -> int:
        """The number of player boards in the game, the bot's included."""
        return len(self.starting_cubes)

    @property
    def musicians(self) -> tuple[str, ...]:
        """The musicians in the game, top row first."""
        return MUSICIANS[: self.num_musicians]

    @property
    def scoring_tiles(self) -> tuple[str, ...]:
        """The tile sides in the game: one tile for each musician, two sides each."""
        return SCORING_TILES[: 2 * self.num_musicians]

    def scoring_points(self, tile: str) -> tuple[float, ...]:
        """Return the points of a tile side at level 1, 2 and 3 (of 4B: for the 1st, 2nd and 3rd place)."""
        return tuple(_BOX["scoring"][tile]["points"][self.scoring_column])


def scoring_method(tile: str) -> str:
    """Return what a tile side counts, such as `dead musicians` for 3A."""
    return str(_BOX["scoring"][tile]["method"])


def _read_player_count_rules(num_players: int) -> PlayerCountRules:
    entry = dict(_BOX["players"][str(num_players)])
    column = entry.pop("scoring")
    lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    return PlayerCountRules(**{**entry, **lists}, num_players=num_players, scoring_column=column)


PLAYER_COUNT_RULES: Final[dict[int, PlayerCountRules]] = {
    int(count): _read_player_count_rules(int(count)) for count in _BOX["players"]
}
PLAYER_COUNTS: Final[tuple[int, ...]] = tuple(PLAYER_COUNT_RULES)
MAX_PLAYERS: Final = max(PLAYER_COUNTS)
