"""The settings of a training run: their names, meanings, limits and defaults.

A YAML file contains the settings that differ from their defaults; `section.name=value` on the command line overrides
the file. PPO's settings have the names that stable-baselines3 gives them.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, get_type_hints

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from symphony9_env import agents
from symphony9_env.agents.networks import MAX_LAYER_SIZE, SHAPES
from symphony9_env.agents.policy import check_temperature
from symphony9_env.files import read_bytes
from symphony9_env.options import OPTION_FIELDS, EnvOptions, OptionValues, make_options
from symphony9_env.rules.chance import MAX_SEED
from symphony9_env.suggestions import shorten, show, suggest

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]  # a relative probability
LayerSize = Annotated[int, Field(ge=1, le=MAX_LAYER_SIZE)]
Sizes = Annotated[tuple[LayerSize, ...], Field(max_length=8)]

# Options of the environment that are no game settings: rewards have a section of their own.
REWARD_OPTIONS: Final = ("reward", "shaping")
MAX_FILE_BYTES: Final = 16_384  # of a settings file
MAX_BRACKETS: Final = 100  # opening ones in YAML: the parser takes very long for deep nesting
MAX_WORKERS: Final = 10_000  # so that no mistyped number and no invalid checkpoint starts more processes
GAME_DEFAULTS: Final = {"ledger": True}  # where training has another default than the environment


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
    critic: Literal["observation", "state"] = Field(
        "observation",
        description="what advantages are computed from; state: a critic that sees hidden information too",
    )
    critic_size: LayerSize = Field(128, description="size of the two layers of the critic that knows the state")


class PpoSettings(Section):
    """MaskablePPO. A setting with an `_end` value changes linearly from its start to its end over the run.

    Numbers of games and decisions are those of all workers together, each of which has an equal share.
    """

    n_envs: Positive = Field(512, description="number of games played in parallel")
    n_steps: Positive = Field(64, description="decisions of the learner per game and update")
    batch_size: Positive = Field(1024, description="minibatch size")
    n_epochs: Positive = Field(1, description="epochs over the rollout per update")
    learning_rate: float = Field(8e-4, gt=0, le=1, description="learning rate at the start")
    learning_rate_end: float = Field(5e-5, gt=0, le=1, description="learning rate at the end")
    ent_coef: float = Field(
        0.01,
        ge=0,
        le=1,
        description="entropy coefficient of the loss at the start; useful with imperfect information: 0.05 to 0.2",
    )
    ent_coef_end: float = Field(0.002, ge=0, le=1, description="entropy coefficient at the end")
    gamma: Fraction = Field(1.0, description="discount factor")
    gae_lambda: Fraction = Field(0.95, description="lambda of generalised advantage estimation")
    clip_range: float = Field(0.2, gt=0, le=1, description="clipping range of the probability ratio")
    vf_coef: float = Field(0.5, ge=0, description="value function coefficient of the loss")
    max_grad_norm: float = Field(0.5, gt=0, description="maximum norm of the gradient; larger ones are clipped")
    target_kl: float | None = Field(
        None, gt=0, description="end an update after an epoch with 1.5 times this KL divergence; null: never"
    )
    kl_coef: float = Field(
        0.0,
        ge=0,
        description="coefficient of the reverse KL divergence from a slow copy of the policy; "
        "useful with imperfect information: 0.025 to 0.2",
    )
    kl_decay: Fraction = Field(0.99, description="decay of the slow copy's moving average of the weights, per update")
    precision: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="numbers of the matrix products in updates; bfloat16 needs a processor made for it, "
        "and does without the fused layers",
    )


class RewardSettings(Section):
    """Winners share +1 and the others share -1 at the end of a game; shaping adds a reward for points on the way."""

    shaping_coef: float = Field(0.0, ge=0, description="reward per point gained in a step, at the start")
    shaping_fraction: Fraction = Field(0.3, description="fraction of the run over which shaping_coef is annealed to 0")


class OpponentSettings(Section):
    """The pool from which opponents are drawn. Weights are relative probabilities.

    Snapshots share the weight `past`; those that still beat the learner are drawn more often.
    """

    latest: Weight = Field(0.3, description="weight of the current policy, which also learns in these seats")
    past: Weight = Field(0.4, description="weight of all snapshots together")
    fixed: dict[str, Weight] = Field(
        default_factory=lambda: {"planner": 0.2, "investor": 0.05, "greedy": 0.05},
        description="weights of fixed agents: any agent that agents.make accepts",
    )
    same_kind: Fraction = Field(0.5, description="fraction of the games in which all opponents are the same agent")
    coalition: bool = Field(
        False, description="one opponent in every game, and the learner in all other seats, which add up their rewards"
    )
    snapshot_every: Positive = Field(500_000, description="steps between two snapshots")
    max_snapshots: Positive = Field(
        16, description="snapshots; beyond that the next one replaces the one that beats the learner least often"
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
    workers: Annotated[int, Field(ge=1, le=MAX_WORKERS)] | None = Field(
        None,
        description="processes that train together, each with its own games; null: one for each core; "
        "on a cluster the most that train, and null: as many as Ray counts CPUs, or GPUs",
    )
    num_threads: Positive = Field(
        1, description="threads of PyTorch in each worker; only one thread gives reproducible results"
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where the network is trained; auto: on GPUs if there are any, one for each worker"
    )
    save_every: float = Field(60, gt=0, description="seconds between two checkpoints")
    start_from: str | None = Field(
        None, description="path of a saved policy whose weights to start from, instead of behaviour cloning"
    )
    wandb: str | None = Field(None, description="project of Weights & Biases for the log, if it is installed")
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
        check_temperature(self.temperature)
        self._check_opponents()
        SHAPES[self.network.kind](self.network.hidden, self.game.ledger)
        if self.network.critic == "state" and not self.game.ledger:
            raise ValueError("network.critic=state: allowed with game.ledger=true, to which it adds what is hidden")
        rollout = self.ppo.n_envs * self.ppo.n_steps
        if self.ppo.batch_size > rollout:
            raise ValueError(f"ppo.batch_size={self.ppo.batch_size}; allowed: up to n_envs * n_steps = {rollout}")

    def _check_opponents(self) -> None:
        if self.opponents.latest + self.opponents.past + sum(self.opponents.fixed.values()) <= 0:
            raise ValueError("opponents: all weights are 0; at least one must be positive")
        if self.opponents.coalition and self.opponents.latest + self.opponents.past > 0:
            raise ValueError("opponents.coalition: allowed if latest and past are 0; the opponent is a fixed agent")
        imitated = [] if self.behaviour_cloning.agent is None else [self.behaviour_cloning.agent]
        for name in (*self.opponents.fixed, *self.evaluation.opponents, *imitated):
            with agents.make(name, seed=0) as agent:
                agent.check_players(self.game.num_players)


def load_settings(path: str | Path, overrides: Sequence[str] = ()) -> Settings:
    """Return the settings of a YAML file with `section.name=value` overrides.

    A ValueError says what is wrong and where.
    """
    try:
        text = read_bytes(path, MAX_FILE_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).removeprefix(f"{path}: ")
        raise ValueError(f"--config {path}: cannot be read ({reason})") from None
    try:
        given = _parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"--config {path}: not valid YAML: {error}") from None
    if not isinstance(given, dict | None):
        raise ValueError(f"--config {path}: contains a {type(given).__name__}; expected a mapping of settings")
    settings = given or {}
    for override in overrides:
        apply_override(settings, override)
    return parse_settings(settings, f"--config {path}")


class _Loader(yaml.SafeLoader):
    """Refuses aliases: a few lines of them can stand for billions of settings."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not allowed", problem_mark=mark)
        return super().compose_node(parent, index)


def _parse_yaml(text: str) -> Any:
    """Return the data of a YAML text; raise a ValueError with the reason in one line if it can't be parsed."""
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        raise ValueError(f"more than {MAX_BRACKETS} brackets")
    try:
        return yaml.load(text, _Loader)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # also for dates and numbers that do not exist
        raise ValueError(shorten(" ".join(str(error).split()))) from None


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
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{source}: not valid JSON ({error})") from None
    return parse_settings(given, source)


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


def apply_override(given: dict[str, Any], override: str) -> None:
    """Apply `section.name=value` to settings that were not checked yet; raise a ValueError if it has another form."""
    names, text = _split_override(override)
    if not names:
        raise ValueError(f"{override!r}; expected a setting as name=value, such as ppo.learning_rate=0.0003")
    *sections, last = names
    for section in sections:
        if given.get(section) is None:
            given[section] = {}
        given = given[section]
        if not isinstance(given, dict):
            raise ValueError(f"{override!r}: {section} is not a section of settings")
    try:
        given[last] = _parse_yaml(text)
    except ValueError:
        raise ValueError(f"{override!r}: the value is not valid YAML") from None


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
        return f"{shorten(name)}={show(first['input'])}; {first['msg']}"
    section = functools.reduce(getattr, location[:-1], Settings())
    known = list(type(section).model_fields)
    return f"unknown setting {show(name)}; {suggest(location[-1], known)}allowed: {', '.join(known)}"
