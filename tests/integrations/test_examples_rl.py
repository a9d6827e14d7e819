"""The examples of other libraries' learners run and play by the mask; the game is the same through every adapter."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from symphony9_env import actions, symphony9_v0
from symphony9_env.agents import Agent
from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.checked import CheckedEnv
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.envs.vector import Symphony9VectorEnv
from symphony9_env.records import Record, load, replay
from tests.scenarios import finish

ROOT = Path(__file__).parent.parent.parent

NEEDS = {  # the libraries that an example imports, whose own warnings are theirs
    "torchrl_ppo": ("torchrl.collectors", "torchrl.envs", "torchrl.modules", "torchrl.objectives"),
    "tianshou_ppo": ("tianshou.algorithm", "tianshou.env", "tianshou.trainer"),
    "sb3_plain": ("sb3_contrib", "stable_baselines3"),
}


def example(name: str) -> Any:
    """An example as a module; they are scripts, in no package."""
    for library in NEEDS[name]:
        pytest.importorskip(library)
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What is played through the adapters.


class Moment(NamedTuple):
    """A decision, or the end, as `raw_env` shows it."""

    seat: int
    action: int | None  # None at the end
    observations: list[NDArray[np.float32]]  # by seat
    mask: NDArray[np.int8]  # of the seat to decide
    rewards: list[float]  # of the step before, by seat


def seeded(num_players: int) -> Record:
    env = RawEnv(num_players=num_players)
    env.reset(seed=20 + num_players)
    finish(env, np.random.default_rng(num_players))
    return env.record()


def dealt(name: str) -> Record:
    """A game of an independent implementation: dealt by hand, not by seed."""
    return load(ROOT / "tests" / "records" / f"{name}.json")


@pytest.fixture(params=[2, 3, 4, "2p-0", "3p-0", "4p-5"])
def record(request: pytest.FixtureRequest) -> Record:
    """By number of players, or by name."""
    return seeded(request.param) if isinstance(request.param, int) else dealt(request.param)


def options_of(record: Record) -> dict[str, Any]:
    return {"num_players": record["num_players"], "discussion": record["discussion"]}


def deal_of(record: Record) -> dict[str, Any]:
    """The arguments of reset()."""
    seed = record["seed"]
    return {"options": {"setup": record["setup"]}} if seed is None else {"seed": seed}


def moments(record: Record) -> list[Moment]:
    moves: list[int | None] = [actions.number(name) for _, name in record["actions"]]
    found = []
    for env, move in zip(replay(record), [*moves, None], strict=True):
        seen = [env.observe(agent) for agent in env.possible_agents]
        seat = env.deciding_seat
        found.append(
            Moment(
                seat,
                move,
                [each["observation"] for each in seen],
                seen[seat]["action_mask"],
                list(env.rewards.values()),
            )
        )
    return found


def without_legal(record: Record) -> Record:
    return Record({key: value for key, value in record.items() if key != "legal"})


def test_torchrl_plays_the_same_game(record: Record) -> None:
    module = example("torchrl_ppo")
    env = module.make_env(**options_of(record))
    shown = env.reset(**deal_of(record))
    for moment in moments(record):
        seats = shown["agents"]
        assert np.array_equal(seats["observation", "observation"].numpy(), np.stack(moment.observations))
        assert bool(shown["done"].item()) == (moment.action is None)
        if "reward" in seats:
            assert seats["reward"][:, 0].tolist() == pytest.approx(moment.rewards)
        if moment.action is None:
            break
        assert seats["mask"].tolist() == [seat == moment.seat for seat in range(record["num_players"])]
        assert np.array_equal(seats["action_mask"][moment.seat].numpy(), moment.mask.astype(bool))
        chosen = module.torch.full((record["num_players"],), moment.action)
        shown = env.step(shown.set(module.ACTION, chosen))["next"]
    assert env._env.record() == without_legal(record)


def test_tianshou_plays_the_same_game(record: Record) -> None:
    tianshou = pytest.importorskip("tianshou.env.pettingzoo_env")
    aec = symphony9_v0.env(**options_of(record))
    env = tianshou.PettingZooEnv(aec)
    shown, _ = env.reset(**deal_of(record))
    rewards, over = [0.0] * record["num_players"], False
    for moment in moments(record):
        assert list(rewards) == pytest.approx(moment.rewards)
        assert over == (moment.action is None)
        if moment.action is None:
            break
        assert shown["agent_id"] == f"player_{moment.seat}"
        assert np.array_equal(shown["obs"], moment.observations[moment.seat])
        assert np.array_equal(shown["mask"], moment.mask.astype(bool))
        shown, rewards, over, _, _ = env.step(np.int64(moment.action))
    assert aec.record() == without_legal(record)


class Follower(Agent):
    """Plays what was played; all at the table take from the same list."""

    name, seed = "follower", 0

    def __init__(self, moves: Iterator[int]) -> None:
        self.moves = moves

    def decide(self, games: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([next(self.moves)])


def test_every_seat_of_the_gymnasium_environment_sees_the_same_game(record: Record) -> None:
    every = moments(record)
    *_, end = replay(record)
    for seat in range(record["num_players"]):
        moves = iter([moment.action for moment in every if moment.action is not None])
        env = gymnasium.make("symphony9_env:Symphony9-v0", opponents=Follower(moves), seat=seat, **options_of(record))
        observation, info = env.reset(**deal_of(record))
        total, terminated = 0.0, False
        for moment in every:
            if moment.seat != seat or moment.action is None:
                continue
            assert np.array_equal(observation, moment.observations[seat])
            assert np.array_equal(info["action_mask"], moment.mask)
            observation, reward, terminated, _, info = env.step(np.int64(next(moves)))
            total += float(reward)
        assert terminated
        assert np.array_equal(observation, every[-1].observations[seat])
        assert total == pytest.approx(sum(moment.rewards[seat] for moment in every))
        assert {key: info[key] for key in ("score", "rank", "breakdown")} == end.infos[f"player_{seat}"]
        unwrapped = env.unwrapped
        assert isinstance(unwrapped, SingleSeatEnv)
        assert unwrapped.record() == without_legal(record)


# The examples.


@pytest.fixture
def _only_legal_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """An illegal move fails the test; the environments would end the game at -1."""
    step = SingleSeatEnv.step

    def checked(env: SingleSeatEnv, action: Any) -> Any:
        assert env.action_masks()[action], f"action {action} is illegal"
        return step(env, action)

    def refuse(env: CheckedEnv) -> None:
        raise AssertionError(f"{env.agent_selection} made an illegal move")

    find_illegal = Symphony9VectorEnv._find_illegal

    def find_none(env: Symphony9VectorEnv, actions: Any) -> Any:
        found = find_illegal(env, actions)
        assert not found.any()
        return found

    monkeypatch.setattr(SingleSeatEnv, "step", checked)
    monkeypatch.setattr(Symphony9VectorEnv, "_find_illegal", find_none)
    monkeypatch.setattr(CheckedEnv, "_end_by_illegal_move", refuse)


def positions() -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Observations and masks of a whole game."""
    seen = [(moment.observations[moment.seat], moment.mask) for moment in moments(seeded(2))[:-1]]
    return np.stack([one for one, _ in seen]), np.stack([mask for _, mask in seen]).astype(bool)


def check_probabilities(probabilities: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
    assert (probabilities[~masks] == 0).all()
    assert (probabilities[masks] > 0).all()
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.usefixtures("_only_legal_moves")
def test_the_torchrl_example_learns_by_the_mask() -> None:
    module = example("torchrl_ppo")
    trained = module.main(["--frames", "2000", "--games", "2", "--seed", "1"])
    assert len(trained.losses) >= 8
    assert all(math.isfinite(loss) for loss in trained.losses)
    assert trained.win_rate in (0, 0.5, 1)
    observations, masks = positions()
    seen = {"observation": {"observation": observations}, "action_mask": masks}
    shown = module.TensorDict({"agents": seen}, batch_size=len(masks))
    check_probabilities(trained.policy.get_dist(shown).probs.detach().numpy(), masks)


def test_the_torchrl_example_pays_every_seat_at_the_end_of_each_game() -> None:
    """In each game a seat's last decision has what the game's end gave it, whoever moved last."""
    module = example("torchrl_ppo")
    env = module.make_env(num_players=3)
    env.set_seed(4)
    frames = env.rollout(500, break_when_any_done=False)
    ends = frames["next", "done"][:, 0]
    assert ends.sum() >= 3
    for seat in range(3):
        own = module.extract_decisions(frames, seat)
        over = own["next", "done"][:, 0]
        paid = frames["next", "agents", "reward"][ends][:, seat]
        known = int(over.sum())  # the last game's may lie after the last known decision
        assert known >= ends.sum() - 1
        assert own["next", "reward"][over].tolist() == paid[:known].tolist()
        assert not own["next", "reward"][~over].any()
        assert own["agents", "mask"].all()
        chosen = own["agents", "action"][:, None]
        assert own["agents", "action_mask"].gather(1, chosen).all()


@pytest.mark.usefixtures("_only_legal_moves")
def test_the_tianshou_example_learns_by_the_mask() -> None:
    module = example("tianshou_ppo")
    trained = module.main(["--steps", "1024", "--games", "8", "--seed", "1"])
    assert len(trained.losses) == 1
    assert math.isfinite(trained.losses[0])
    assert 0 <= trained.win_rate <= 1
    observations, masks = positions()
    from tianshou.data import Batch

    shown = Batch(obs=Batch(obs=observations, mask=masks), info=Batch())
    check_probabilities(trained.policy(shown).dist.probs.detach().numpy(), masks)


@pytest.mark.usefixtures("_only_legal_moves")
def test_the_plain_sb3_example_learns_by_the_mask() -> None:
    module = example("sb3_plain")
    trained = module.main(["--steps", "1024", "--games", "8", "--seed", "1"])
    assert trained.model.num_timesteps == 64 * 32  # one update
    assert math.isfinite(trained.model.logger.name_to_value["train/loss"])
    assert 0 <= trained.win_rate <= 1
    observations, masks = positions()
    policy = trained.model.policy
    shown, _ = policy.obs_to_tensor(observations)
    check_probabilities(policy.get_distribution(shown, masks).distribution.probs.detach().numpy(), masks)


@pytest.mark.parametrize("name", NEEDS)
def test_the_examples_explain_themselves(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = example(name)
    with pytest.raises(SystemExit) as stopped:
        module.main(["--help"])
    assert stopped.value.code == 0
    assert "--seed" in capsys.readouterr().out
