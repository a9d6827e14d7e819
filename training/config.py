"""The settings of a training run: their names, meanings, limits and defaults, in one place.

A YAML file names only what it changes; `section.name=value` on the command line changes it again.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from symphony9_env import agents
from symphony9_env.agents.networks import SHAPES
from symphony9_env.options import EnvOptions, make_options
from symphony9_env.rules.chance import MAX_SEED

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]
Sizes = Annotated[tuple[Positive, ...], Field(max_length=8)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class GameSettings(Section):
    """What is played: the options of the environment."""

    num_players: int = Field(4, description="2, 3 or 4")
    tracks: str = Field("historical", description="historical or random")
    scoring: str = Field("random", description="random, A or B")
    discussion: bool = Field(False, description="with announcements")
    ledger: bool = Field(True, description="whether the learner sees what a perfect memory knows of money")
    components: str | None = Field(None, description="an owner's own component file")

    def options(self) -> EnvOptions:
        """Return the options of the environment."""
        return make_options(**self.model_dump())


class NetworkSettings(Section):
    """The learner's network; `symphony9_env/agents/networks.py` tells what it looks like."""

    kind: Literal["musicians", "mlp"] = Field(
        "musicians", description="the same layers for each musician, or plain ones"
    )
    hidden: Sizes = Field((96, 96, 128), description="sizes of the layers; three for `musicians`")
    activation: Literal["tanh", "relu"] = Field("relu", description="between the layers")


class PpoSettings(Section):
    """MaskablePPO. `…_end` is what a setting has become, step by step, when the training ends."""

    num_games: Positive = Field(512, description="games side by side")
    num_steps: Positive = Field(64, description="the learner's decisions in each of them before an update")
    batch_size: Positive = Field(512, description="decisions in one gradient step")
    num_epochs: Positive = Field(3, description="passes over the decisions of one update")
    learning_rate: float = Field(3e-4, gt=0, le=1)
    learning_rate_end: float = Field(5e-5, gt=0, le=1)
    entropy: float = Field(0.01, ge=0, le=1, description="reward for staying undecided")
    entropy_end: float = Field(0.002, ge=0, le=1)
    gamma: Share = Field(1.0, description="discount of a reward one decision later")
    gae_lambda: Share = Field(0.95, description="how far advantages look past the value estimate")
    clip_range: float = Field(0.2, gt=0, le=1, description="how far an update may move a probability")
    value_weight: float = Field(0.5, ge=0, description="of the value's loss")
    max_grad_norm: float = Field(0.5, gt=0)
    target_kl: float | None = Field(None, gt=0, description="ends an update early when the policy has moved so far")


class RewardSettings(Section):
    """The reward is +1 for a win and its counterpart for a loss; at first also the points that each move brings."""

    shaping: float = Field(0.0, ge=0, description="reward for each point at the start")
    shaping_until: Share = Field(0.3, description="part of the training in which that falls to nothing")


class OpponentSettings(Section):
    """Who the learner meets. Weights are relative; past snapshots share theirs by how often they still beat it."""

    latest: float = Field(0.3, ge=0, description="weight of itself, as it was before the present update")
    past: float = Field(0.4, ge=0, description="weight of all snapshots together")
    fixed: dict[str, float] = Field(
        default_factory=lambda: {"planner": 0.2, "investor": 0.05, "greedy": 0.05},
        description="weights of named agents or saved policies",
    )
    same_kind: Share = Field(0.5, description="part of the games in which all opponents are the same")
    snapshot_every: Positive = Field(500_000, description="decisions between two snapshots")
    max_snapshots: Positive = Field(16, description="snapshots kept; the one that is beaten most often goes first")


class WarmStartSettings(Section):
    """Before the training: learn what an agent does, from games of it against itself."""

    agent: str | None = Field("planner", description="whom to learn from; none: begin with nothing")
    games: Positive = Field(20_000, description="to learn from, each looked at once")
    slips: Share = Field(0.1, description="part of the moves played at random, for odd positions")
    batch_size: Positive = Field(128, description="decisions in one gradient step; many small steps learn faster")
    learning_rate: float = Field(2e-3, gt=0, le=1)


class EvaluationSettings(Section):
    """Matches on deals that are never trained on: the learner alone against a table full of each opponent."""

    every: Positive = Field(1_000_000, description="decisions between two evaluations")
    games: Positive = Field(400, description="against each opponent")
    opponents: tuple[str, ...] = Field(("random", "greedy", "planner"), min_length=1, description="agents or policies")
    seed: int = Field(9_000_000, ge=0, le=MAX_SEED, description="of the deals")


class Settings(Section):
    """A whole training run."""

    total_steps: Positive = Field(2_000_000, description="the learner's decisions in all")
    seed: int = Field(0, ge=0, le=MAX_SEED)
    num_threads: Positive = Field(2, description="threads for the network; results are repeatable with one")
    save_every: float = Field(60, gt=0, description="seconds between two saves")
    start_from: str | None = Field(None, description="a saved policy whose weights to begin with, without a head start")
    temperature: float = Field(1.0, ge=0, le=100, description="of the exported policy; 0 always plays the best action")
    game: GameSettings = GameSettings()
    warm_start: WarmStartSettings = WarmStartSettings()
    network: NetworkSettings = NetworkSettings()
    ppo: PpoSettings = PpoSettings()
    reward: RewardSettings = RewardSettings()
    opponents: OpponentSettings = OpponentSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    def check(self) -> None:
        """What one setting alone can't show; a ValueError says what is wrong."""
        self.game.options().variant.load_components()
        for name, weight in self.opponents.fixed.items():
            if weight < 0:
                raise ValueError(f"opponents.fixed.{name}={weight}; allowed: 0 or more")
        if self.opponents.latest + self.opponents.past + sum(self.opponents.fixed.values()) <= 0:
            raise ValueError("opponents: all weights are 0; needed: somebody to play against")
        for name in (*self.opponents.fixed, *self.evaluation.opponents, self.warm_start.agent or "random"):
            agents.make(name, seed=0).check_players(self.game.num_players)
        SHAPES[self.network.kind](self.network.hidden, self.game.ledger)
        rollout = self.ppo.num_games * self.ppo.num_steps
        if self.ppo.batch_size > rollout:
            raise ValueError(f"ppo.batch_size={self.ppo.batch_size}; allowed: up to num_games × num_steps = {rollout}")


def load_settings(path: str | Path, changes: Sequence[str] = ()) -> Settings:
    """Settings from a YAML file and `section.name=value` changes; a ValueError says what is wrong and where."""
    try:
        given = yaml.safe_load(Path(path).read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--config {path}: can't be read ({getattr(error, 'strerror', None) or error})") from None
    except yaml.YAMLError as error:
        raise ValueError(f"--config {path}: is no YAML: {' '.join(str(error).split())}") from None
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise ValueError(f"--config {path}: holds {type(given).__name__}; needed: settings by name")
    for change in changes:
        _apply(given, change)
    return parse_settings(given, f"--config {path}")


def parse_settings(given: dict[str, Any], where: str) -> Settings:
    try:
        settings = Settings.model_validate(given)
        settings.check()
    except ValidationError as error:
        raise ValueError(f"{where}: {_told(error)}") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return settings


def _apply(given: dict[str, Any], change: str) -> None:
    name, equals, text = change.partition("=")
    if not equals or not name:
        raise ValueError(f"{change!r}; needed: a setting as name=value, such as ppo.learning_rate=0.0003")
    *sections, last = name.split(".")
    for section in sections:
        given = given.setdefault(section, {})
        if not isinstance(given, dict):
            raise ValueError(f"{change!r}: {section} has no settings of its own")
    try:
        given[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ValueError(f"{change!r}: the value is no YAML") from None


def _told(error: ValidationError) -> str:
    """The first thing that is wrong, in one line."""
    first = error.errors()[0]
    place = first["loc"]
    name = ".".join(str(part) for part in place)
    if first["type"] != "extra_forbidden":
        return f"{name}={first['input']!r}; {first['msg']}"
    section: type[BaseModel] = Settings
    for part in place[:-1]:
        section = type(getattr(section(), str(part)))
    known = list(section.model_fields)
    near = difflib.get_close_matches(str(place[-1]), known, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown setting {name!r}; {hint}allowed: {', '.join(known)}"
