"""The settings of a training run: their names, meanings, limits and defaults.

A YAML file contains the settings that differ from their defaults; `section.name=value` on the command line overrides
the file. PPO's settings have the names that stable-baselines3 gives them.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import reprlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, get_type_hints

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from symphony9_env import agents, files
from symphony9_env.agents.networks import SHAPES
from symphony9_env.options import OPTION_FIELDS, EnvOptions, OptionValues, make_options
from symphony9_env.rules.chance import MAX_SEED
from symphony9_env.suggestions import suggest

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]  # a relative probability
Sizes = Annotated[tuple[Positive, ...], Field(max_length=8)]

# Options of the environment that are no game settings: rewards have a section of their own.
REWARD_OPTIONS: Final = ("reward", "shaping")
GAME_DEFAULTS: Final = {"ledger": True}  # where training has another default than the environment
MAX_CONFIG_BYTES: Final = 1_000_000

_SHORT: Final = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = _SHORT.maxother = 120


class Section(BaseModel):
    """A group of settings."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _accept_nothing(cls, given: Any) -> Any:
        return {} if given is None else given  # a section of a YAML file without settings is null


def _game_field(option: dataclasses.Field[Any]) -> tuple[Any, Any]:
    """Return the type and the field of a game setting that is an option of the environment."""
    choices = option.metadata["choices"]
    allowed = f": {', '.join(map(str, choices))}" if choices else ""
    default = GAME_DEFAULTS.get(option.name, option.default)
    return get_type_hints(OptionValues)[option.name], Field(default, description=option.metadata["help"] + allowed)


def _make_game_section() -> Any:
    """Return a section with a setting for each option of the environment, except for rewards."""
    options = [option for option in OPTION_FIELDS if option.name not in REWARD_OPTIONS]
    fields: dict[str, Any] = {option.name: _game_field(option) for option in options}
    return create_model("_GameSection", __base__=Section, **fields)


class GameSettings(_make_game_section()):  # type: ignore[misc]
    """The game and what the learner observes: options of the environment."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.options()
        return self

    def options(self) -> EnvOptions:
        """Return the options of the environment."""
        return make_options(**self.as_json())

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain JSON data."""
        return dict(self.model_dump(mode="json"))


class NetworkSettings(Section):
    """The policy and value network; see `symphony9_env/agents/networks.py`."""

    kind: Literal["musicians", "mlp"] = Field(
        "musicians", description="musicians: layers shared by all musicians; mlp: fully connected layers"
    )
    hidden: Sizes = Field((96, 96, 128), description="sizes of the hidden layers; musicians has exactly three")
    activation: Literal["tanh", "relu"] = Field("relu", description="activation function of the hidden layers")


class PpoSettings(Section):
    """MaskablePPO. A setting with an `_end` value changes linearly from its start to its end over the run."""

    n_envs: Positive = Field(512, description="number of games played in parallel")
    n_steps: Positive = Field(64, description="steps of the learner in each game per update")
    batch_size: Positive = Field(512, description="minibatch size")
    n_epochs: Positive = Field(3, description="epochs over the rollout buffer per update")
    learning_rate: float = Field(3e-4, gt=0, le=1, description="learning rate at the start")
    learning_rate_end: float = Field(5e-5, gt=0, le=1, description="learning rate at the end")
    ent_coef: float = Field(0.01, ge=0, le=1, description="entropy coefficient of the loss at the start")
    ent_coef_end: float = Field(0.002, ge=0, le=1, description="entropy coefficient at the end")
    gamma: Fraction = Field(1.0, description="discount factor")
    gae_lambda: Fraction = Field(0.95, description="lambda of generalised advantage estimation")
    clip_range: float = Field(0.2, gt=0, le=1, description="clipping range of the probability ratio")
    vf_coef: float = Field(0.5, ge=0, description="value function coefficient of the loss")
    max_grad_norm: float = Field(0.5, gt=0, description="maximum norm of the gradient; larger ones are clipped")
    target_kl: float | None = Field(
        None, gt=0, description="stop an update early at this KL divergence from the old policy; null: never"
    )


class RewardSettings(Section):
    """Winners share +1 and the others share -1 at the end of a game; shaping adds a reward for points on the way."""

    shaping_coef: float = Field(0.0, ge=0, description="reward per point gained in a step, at the start")
    shaping_fraction: Fraction = Field(0.3, description="fraction of the run over which shaping_coef is annealed to 0")


class OpponentSettings(Section):
    """The pool from which opponents are drawn. Weights are relative probabilities.

    Snapshots share the weight `past`; those that still beat the learner are drawn more often.
    """

    latest: Weight = Field(0.3, description="weight of the current policy, as of the last update")
    past: Weight = Field(0.4, description="weight of all snapshots together")
    fixed: dict[str, Weight] = Field(
        default_factory=lambda: {"planner": 0.2, "investor": 0.05, "greedy": 0.05},
        description="weights of fixed agents: any agent that agents.make accepts",
    )
    same_kind: Fraction = Field(0.5, description="fraction of the games in which all opponents are the same agent")
    snapshot_every: Positive = Field(500_000, description="steps between two snapshots")
    max_snapshots: Positive = Field(
        16, description="active snapshots; beyond that the one that beats the learner least often is retired"
    )


class BehaviourCloningSettings(Section):
    """Supervised learning from an agent's games against itself, before reinforcement learning."""

    agent: str | None = Field("planner", description="the agent to imitate; null: no behaviour cloning")
    games: Positive = Field(20_000, description="games to learn from; each is used once")
    random_move_probability: Fraction = Field(
        0.1, description="probability of playing a random legal move, so that unusual positions occur"
    )
    batch_size: Positive = Field(128, description="minibatch size")
    learning_rate: float = Field(2e-3, gt=0, le=1, description="learning rate at the start; decays linearly to 0")


class EvaluationSettings(Section):
    """Matches on deals that are not used for training: the learner alone against copies of one opponent."""

    every: Positive = Field(1_000_000, description="steps between two evaluations")
    games: Positive = Field(400, description="games against each opponent")
    opponents: tuple[str, ...] = Field(
        ("random", "greedy", "planner"), min_length=1, description="any agents that agents.make accepts"
    )
    seed: int = Field(9_000_000, ge=0, le=MAX_SEED, description="seed of the deals")


class Settings(Section):
    """A training run."""

    total_steps: Positive = Field(2_000_000, description="steps (decisions of the learner) to train for")
    seed: int = Field(0, ge=0, le=MAX_SEED, description="seed of the run")
    num_threads: Positive = Field(2, description="threads of PyTorch; only one thread gives reproducible results")
    save_every: float = Field(60, gt=0, description="seconds between two checkpoints")
    start_from: str | None = Field(
        None, description="path of a saved policy whose weights to start from, instead of behaviour cloning"
    )
    temperature: float = Field(
        1.0, ge=0, le=100, description="softmax temperature of the exported policies; 0: always the best action"
    )
    game: GameSettings = GameSettings()
    behaviour_cloning: BehaviourCloningSettings = BehaviourCloningSettings()
    network: NetworkSettings = NetworkSettings()
    ppo: PpoSettings = PpoSettings()
    reward: RewardSettings = RewardSettings()
    opponents: OpponentSettings = OpponentSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    def check(self) -> None:
        """Check what concerns several settings, files or agents; raise a ValueError that says what is wrong."""
        self.game.options().variant.load_components()
        self._check_opponents()
        SHAPES[self.network.kind](self.network.hidden, self.game.ledger)
        rollout = self.ppo.n_envs * self.ppo.n_steps
        if self.ppo.batch_size > rollout:
            raise ValueError(f"ppo.batch_size={self.ppo.batch_size}; allowed: up to n_envs * n_steps = {rollout}")

    def _check_opponents(self) -> None:
        if self.opponents.latest + self.opponents.past + sum(self.opponents.fixed.values()) <= 0:
            raise ValueError("opponents: all weights are 0; at least one must be positive")
        imitated = [] if self.behaviour_cloning.agent is None else [self.behaviour_cloning.agent]
        for name in (*self.opponents.fixed, *self.evaluation.opponents, *imitated):
            with agents.make(name, seed=0) as agent:
                agent.check_players(self.game.num_players)


def load_settings(path: str | Path, overrides: Sequence[str] = ()) -> Settings:
    """Return the settings of a YAML file with `section.name=value` overrides.

    A ValueError says what is wrong and where.
    """
    try:
        text = files.read_bytes(path, MAX_CONFIG_BYTES).decode()
    except (OSError, ValueError) as error:
        raise ValueError(f"--config {path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    try:
        given = _parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"--config {path}: not valid YAML: {error}") from None
    if not isinstance(given, dict | None):
        raise ValueError(f"--config {path}: contains a {type(given).__name__}; expected a mapping of settings")
    settings = given or {}
    for override in overrides:
        _apply_override(settings, override)
    return parse_settings(settings, f"--config {path}")


def parse_settings(given: dict[str, Any], source: str) -> Settings:
    """Return checked settings; `source` begins the error message."""
    try:
        settings = Settings.model_validate(given)
        settings.check()
    except ValidationError as error:
        raise ValueError(f"{source}: {_describe_error(error)}") from None
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    return settings


def parse_settings_json(text: str, source: str) -> Settings:
    """Return the settings that a run wrote with `model_dump_json`."""
    return parse_settings(json.loads(text), source)


def list_settings() -> str:
    """Return all settings with their defaults, as they can be given on the command line, and their descriptions."""
    return "\n".join(_list_section(Settings(), ""))


def _list_section(section: Section, prefix: str) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, Section):
            yield f"\n{name}: {' '.join((value.__doc__ or '').split())}"
            yield from _list_section(value, f"{name}.")
        else:
            yield f"  {prefix}{name}={json.dumps(value)}   {field.description}"


def _apply_override(given: dict[str, Any], override: str) -> None:
    names, text = _split_override(override)
    if not names:
        raise ValueError(f"{_shorten(override)}; expected a setting as name=value, such as ppo.learning_rate=0.0003")
    *sections, last = names
    for section in sections:
        if given.get(section) is None:
            given[section] = {}
        given = given[section]
        if not isinstance(given, dict):
            raise ValueError(f"{_shorten(override)}: {section} is not a section of settings")
    try:
        given[last] = _parse_yaml(text)
    except ValueError:
        raise ValueError(f"{_shorten(override)}: the value is not valid YAML") from None


def _parse_yaml(text: str) -> Any:
    """Return the contents of a YAML document; raise a ValueError if it is none."""
    try:
        return yaml.safe_load(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except (yaml.YAMLError, ValueError) as error:  # a ValueError for a date or a number that can't exist
        raise ValueError(" ".join(str(error).split())) from None


def _shorten(value: Any) -> str:
    """Return a value for an error message; lists in lists that YAML's aliases repeat would have gigabytes."""
    return _SHORT.repr(value)


def _split_override(override: str) -> tuple[list[str], str]:
    """Return the names in `section.name=value` or `section.name.key=value`, and the value; no names if it is neither.

    A key, such as an agent `mine=agent.py:decide`, may contain dots and equals signs.
    """
    section, _, rest = override.partition(".")
    name, _, rest = rest.partition(".")
    key, equals, value = rest.rpartition("=")
    if equals and "=" not in section + name:
        return [section, name, key], value
    path, equals, value = override.partition("=")
    return (path.split("."), value) if equals and path else ([], "")


def _describe_error(error: ValidationError) -> str:
    """Return the first of the errors in one line."""
    first = error.errors()[0]
    location = [str(part) for part in first["loc"]]
    name = ".".join(location)
    if first["type"] == "value_error":
        return f"{name}: {first['ctx']['error']}"
    if first["type"] != "extra_forbidden":
        return f"{name}={_shorten(first['input'])}; {first['msg']}"
    section = functools.reduce(getattr, location[:-1], Settings())
    known = list(type(section).model_fields)
    return f"unknown setting {name!r}; {suggest(location[-1], known)}allowed: {', '.join(known)}"
