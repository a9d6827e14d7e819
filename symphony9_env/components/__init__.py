# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return"
"""The game components: musicians, furniture, tokens, rules by player count, career tracks, scoring tiles."""

from symphony9_env.components.box import (
    BUDGET_TOKENS,
    CLASSES,
    FURNITURE_POINTS,
    FURNITURE_VALUES,
    MAX_BOT_AMOUNT,
    MAX_PLAYERS,
    MAX_REPUTATION,
    MAX_SPACES,
    MAX_TRACK_CUBES,
    MUSICIAN_INDEX,
    MUSICIANS,
    NUM_BOT_TILES,
    PLAYER_COUNT_RULES,
    PLAYER_COUNTS,
    SCORING_METHODS,
    SCORING_TILES,
    SIDES,
    STARTING_MONEY,
    PlayerCountRules,
    scoring_method,
)

__all__ = [
    "BUDGET_TOKENS",
    "CLASSES",
    "FURNITURE_POINTS",
    "FURNITURE_VALUES",
    "MAX_BOT_AMOUNT",
    "MAX_PLAYERS",
    "MAX_REPUTATION",
    "MAX_SPACES",
    "MAX_TRACK_CUBES",
    "MUSICIANS",
    "MUSICIAN_INDEX",
    "NUM_BOT_TILES",
    "PLAYER_COUNTS",
    "PLAYER_COUNT_RULES",
    "SCORING_METHODS",
    "SCORING_TILES",
    "SIDES",
    "STARTING_MONEY",
    "PlayerCountRules",
    "scoring_method",
]
