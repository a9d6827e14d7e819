"""What a seat may know: as a vector with named fields, as text, as JSON and log lines; and resampled states."""

from symphony9_env.views.fields import (
    FIELDS,
    LAYOUT_VERSION,
    LEDGER_FIELDS,
    OBSERVATION_SIZE,
    STATE_FIELDS,
    STATE_SIZE,
    Field,
    layout_hash,
    observation_fields,
    observation_size,
)
from symphony9_env.views.resample import resample
from symphony9_env.views.seat import Board, Musician, SeatView, seat_view
from symphony9_env.views.text import describe

__all__ = [
    "FIELDS",
    "LAYOUT_VERSION",
    "LEDGER_FIELDS",
    "OBSERVATION_SIZE",
    "STATE_FIELDS",
    "STATE_SIZE",
    "Board",
    "Field",
    "Musician",
    "SeatView",
    "describe",
    "layout_hash",
    "observation_fields",
    "observation_size",
    "resample",
    "seat_view",
]
