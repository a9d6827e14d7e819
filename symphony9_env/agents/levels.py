"""`level:1` … `level:10`: the shipped policy, weakened in about equal steps of rating down to a beginner.

How much a level is weakened is one number, its *weakness*: 0 for `level:10`, which is the policy as it is shipped. With
a growing weakness the policy

- chooses less carefully: it draws its actions at a higher temperature;
- overlooks more and more, as people do: first what its rivals own and contribute, then what lies ahead on the tracks
  and when musicians will die, at last what is on the rivals' boards (`BLIND_SPOTS`).

What is overlooked partly is seen partly: an observed number moves towards a neutral one, its average over the policy's
own games, and has that value when it is overlooked completely. This is done once, to the first weights and the biases
of the network, so a level answers as fast as the policy.

`levels.json` has the weakness of each level for each number of players. `python -m tools.calibrate_levels` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from symphony9_env.agents.networks import MUSICIAN_FIELDS, Weights, musician_columns
from symphony9_env.agents.policy import PolicyAgent, ShippedPolicy
from symphony9_env.rules.state import NUM_MUSICIANS
from symphony9_env.views import Field, observation_fields, observation_size

NUM_LEVELS: Final = 10
LEVELS: Final = tuple(f"level:{level}" for level in range(1, NUM_LEVELS + 1))
DATA: Final = Path(__file__).with_name("levels.json")
TEMPERATURE: Final = 16.0  # at weakness 1, above that of the policy; in proportion to the weakness


@dataclass(frozen=True)
class BlindSpot:
    """Observation fields that are overlooked: not at all up to one weakness, completely from another one on."""

    meaning: str
    start: float
    end: float
    fields: tuple[str, ...]

    def attention(self, weakness: float) -> float:
        """Return how much of these fields is seen: 1 is everything."""
        return min(max((self.end - weakness) / (self.end - self.start), 0.0), 1.0)


BLIND_SPOTS: Final = (
    BlindSpot(
        "what rivals own and contribute",
        0,
        0.25,
        ("others_money", "others_furniture", "sales", "announced", "contribution", "contribution_token"),
    ),
    BlindSpot("tracks ahead and deaths", 0.25, 0.5, ("cubes_left", "ahead_reputation", "ahead_cubes")),
    BlindSpot("rivals' boards", 0.5, 1, ("earlier_cubes", "new_cubes", "compositions")),
)
# The fields with an axis over seats. A seat never overlooks what is its own, which comes first.
SEAT_FIELDS: Final = (
    "sales",
    "announced",
    "contribution",
    "contribution_token",
    "earlier_cubes",
    "new_cubes",
    "compositions",
)

Neutral = Mapping[str, Sequence[float]]  # of each field, in the order of `list_columns`
Floats64 = NDArray[np.float64]


class LevelAgent(ShippedPolicy):
    """`level:N`: plays the shipped policy, weakened."""

    def __init__(self, level: int, seed: int) -> None:
        super().__init__(seed)
        self.level = level
        self.name = LEVELS[level - 1]

    def _load(self, num_players: int) -> PolicyAgent:
        calibrated = read_levels()["players"][str(num_players)]
        weakness = calibrated["levels"][self.level - 1]["weakness"]
        return weaken(super()._load(num_players), weakness, calibrated["neutral"])


@cache
def read_levels() -> dict[str, Any]:
    """Return the calibration that comes with the package, the contents of `levels.json`."""
    found: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return found


def weaken(policy: PolicyAgent, weakness: float, neutral: Neutral) -> PolicyAgent:
    """Return a weaker policy of the same name; with a weakness of 0, one that plays exactly the same."""
    if weakness == 0:
        return policy
    card = replace(policy.card, temperature=policy.card.temperature + TEMPERATURE * weakness)
    attention, values = np.ones(observation_size(card.ledger)), np.zeros(observation_size(card.ledger))
    for field, spot in _list_blind_fields(card.ledger):
        columns = list_columns(field)
        attention[columns] = spot.attention(weakness)
        values[columns] = np.array(neutral[field.name])[:, None]
    weights = _overlook(card.network, card.ledger, policy.weights, attention, values)
    return PolicyAgent(policy.name, card, weights, policy.seed)


def find_neutral(observation: Floats64, ledger: bool) -> dict[str, list[float]]:
    """Return the neutral values of all fields that are overlooked, from an average observation."""
    return {
        field.name: observation[list_columns(field)].mean(axis=1).round(4).tolist()
        for field, _ in _list_blind_fields(ledger)
    }


def list_columns(field: Field) -> NDArray[np.int64]:
    """Return the columns of a field that may be overlooked: a row for each of its numbers, with all musicians' columns.

    Musicians have one neutral value, so that a network which treats them alike still does.
    """
    columns = np.arange(field.start, field.stop).reshape(field.shape)
    if field.name in SEAT_FIELDS:
        columns = columns[1:]
    if field.name not in MUSICIAN_FIELDS:
        return columns.reshape(-1, 1)
    axis = 0 if field.shape[0] == NUM_MUSICIANS else -1
    return np.moveaxis(columns, axis, -1).reshape(-1, NUM_MUSICIANS)


def _list_blind_fields(ledger: bool) -> list[tuple[Field, BlindSpot]]:
    """Return the fields of an observation that may be overlooked; rivals' money is in the ledger only."""
    fields = {field.name: field for field in observation_fields(ledger)}
    return [(fields[name], spot) for spot in BLIND_SPOTS for name in spot.fields if name in fields]


def _overlook(kind: str, ledger: bool, weights: Weights, attention: Floats64, neutral: Floats64) -> Weights:
    """Return the weights of a network that sees `neutral + attention * (observation - neutral)`."""
    missing = (1 - attention) * neutral
    changed: dict[str, Any] = dict(weights)
    if kind == "mlp":
        layers = [(f"{head}.0.weight", f"{head}.0.bias", attention, missing) for head in ("policy", "value")]
    else:
        by_musician, others = musician_columns(ledger)
        own = attention[by_musician[0]]
        changed["first.place"] = weights["first.place"] + missing[by_musician] @ weights["first.weight"].T
        changed["first.weight"] = weights["first.weight"] * own
        layers = [("first.table", "first.place", attention[others], missing[others])]
        pooled = weights["third.weight"].shape[1] - len(others)  # these inputs come first, and are not observed
        seen = np.concatenate([np.ones(pooled), attention[others]])
        added = np.concatenate([np.zeros(pooled), missing[others]])
        layers += [(f"{head}third.weight", f"{head}third.bias", seen, added) for head in ("", "value.")]
    for weight, bias, seen, added in layers:
        if weight in changed:
            changed[bias] = changed[bias] + changed[weight] @ added
            changed[weight] = changed[weight] * seen
    return {name: np.asarray(values, np.float32) for name, values in changed.items()}
