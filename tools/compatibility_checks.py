"""The checks of `make compatibility`: one function for each library, decorated with `client`.

A check raises an error if something does not work, and returns what does. The libraries are imported in the checks,
because no environment has all of them.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from tools.constraints import ROOT


class Client(NamedTuple):
    """A library and the check that runs it."""

    name: str
    package: str  # as it is installed
    limits: str  # what is known not to work, and why
    check: Callable[[], str]


CLIENTS: Final[list[Client]] = []


def client(name: str, package: str, limits: str = "") -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Register a check."""

    def register(check: Callable[[], str]) -> Callable[[], str]:
        CLIENTS.append(Client(name, package, limits, check))
        return check

    return register


def run_example(name: str, *arguments: str) -> Any:
    """Run the `main` of an example."""
    sys.path.insert(0, str(ROOT / "examples"))  # some import each other, also in Ray's processes
    os.environ["PYTHONPATH"] = str(ROOT / "examples")
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / "examples" / name)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # some libraries pickle its classes
    spec.loader.exec_module(module)
    return module.main(list(arguments))


@client("Gymnasium", "gymnasium")
def check_gymnasium() -> str:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("symphony9_env:Symphony9-v0", illegal="random")
    check_env(env.unwrapped, skip_render_check=True)
    vector = gymnasium.make_vec("symphony9_env:Symphony9-v0", num_envs=4)
    _, infos = vector.reset(seed=0)
    for _ in range(200):
        _, _, _, _, infos = vector.step(infos["action_mask"].argmax(axis=1))
    return "`check_env`; a loop over `make_vec`"


@client("PettingZoo", "pettingzoo")
def check_pettingzoo() -> str:
    from pettingzoo.test import api_test, parallel_api_test, seed_test

    from symphony9_env import symphony9_v0

    api_test(symphony9_v0.env(), num_cycles=200)
    parallel_api_test(symphony9_v0.parallel_env(), num_cycles=200)
    seed_test(symphony9_v0.env, num_cycles=50)
    rules = inspect.getmodule(symphony9_v0.env().unwrapped).__doc__  # what its LangChain agent shows to the model
    assert rules is not None
    assert "bid" in rules
    return "`api_test`, `parallel_api_test`, `seed_test`; the rules where its LangChain agent looks for them"


@client("stable-baselines3", "stable_baselines3", 'no masks: use `illegal="random"`')
def check_sb3() -> str:
    from stable_baselines3 import PPO

    from symphony9_env.integrations.sb3 import Symphony9VecEnv

    PPO("MlpPolicy", Symphony9VecEnv(8, illegal="random"), n_steps=32, batch_size=64, device="cpu").learn(512)
    return "PPO on `Symphony9VecEnv`"


@client("sb3-contrib", "sb3_contrib")
def check_sb3_contrib() -> str:
    run_example("sb3_plain.py", "--steps", "2048", "--games", "10")
    return "MaskablePPO (example)"


@client(
    "PettingZoo's SB3 tutorial",
    "sb3_contrib",
    "learns to play worse than `random`, because it keeps only the last mover's reward: use `Symphony9VecEnv`",
)
def check_sb3_tutorial() -> str:
    from stable_baselines3.common.vec_env import DummyVecEnv

    from tools.sb3_tutorial import LastMoverEnv, train

    train(DummyVecEnv([LastMoverEnv] * 4), 128, seed=0)
    return "MaskablePPO on a wrapper that does the same"


@client("TorchRL", "torchrl", "waiting seats get a mask of ones in the AEC wrapper")
def check_torchrl() -> str:
    from torchrl.envs import GymEnv, PettingZooWrapper

    from symphony9_env import symphony9_v0

    PettingZooWrapper(symphony9_v0.env(), use_mask=True).rollout(50)
    PettingZooWrapper(symphony9_v0.parallel_env()).rollout(50)
    GymEnv("symphony9_env:Symphony9-v0", illegal="random").rollout(20)
    return "`PettingZooWrapper` (AEC, parallel), `GymEnv`"


@client("Tianshou", "tianshou")
def check_tianshou() -> str:
    run_example("tianshou_ppo.py", "--steps", "1024", "--games", "8")
    return "PPO on `Symphony9-v0` (example)"


@client("Tianshou PettingZooEnv", "tianshou", "on-policy algorithms miss rewards at the end")
def check_tianshou_pettingzoo() -> str:
    """Run what the tutorials of PettingZoo and Tianshou do: a DQN learns one seat, the other plays at random."""
    from tianshou.algorithm import DQN, MARLRandomDiscreteMaskedOffPolicyAlgorithm, MultiAgentOffPolicyAlgorithm
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.env.pettingzoo_env import PettingZooEnv
    from tianshou.trainer import OffPolicyTrainerParams
    from tianshou.utils.net.common import Net

    from symphony9_env import symphony9_v0

    envs = DummyVectorEnv([lambda: PettingZooEnv(symphony9_v0.env(num_players=2))] * 2)
    envs.seed(0)
    env = PettingZooEnv(symphony9_v0.env(num_players=2))
    space, actions = env.observation_space["observation"], env.action_space
    net = Net(state_shape=space.shape, action_shape=actions.n, hidden_sizes=[32])
    policy = DiscreteQLearningPolicy(model=net, action_space=actions, eps_training=0.1)
    learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-4), n_step_return_horizon=250, gamma=1.0)
    opponent = MARLRandomDiscreteMaskedOffPolicyAlgorithm(action_space=actions)
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=[opponent, learner], env=env)
    collector = Collector(algorithm, envs, VectorReplayBuffer(2000, len(envs)), exploration_noise=True)
    result = algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=400,
            collection_step_num_env_steps=200,
            batch_size=64,
            update_step_num_gradient_steps_per_sample=0.02,
            multi_agent_return_reduction=lambda returns: returns[:, 1],
            show_progress=False,
        )
    )
    assert result.update_step > 0
    assert result.train_episode > 0
    return "`Collector` and DQN for one seat, as in the tutorials"


@client("RLlib", "ray")
def check_rllib() -> str:
    run_example("rllib_selfplay.py", "--steps", "500", "--games", "2")
    return "`MultiAgentEnv`: PPO by self-play (example)"


@client("OpenSpiel", "open_spiel", "C++ bots do not work on Python games")
def check_openspiel() -> str:
    import pyspiel

    import_module("symphony9_env.integrations.openspiel")
    pyspiel.random_sim_test(pyspiel.load_game("python_symphony9(players=3)"), 2, True, False)
    return "`random_sim_test` with serialization"


@client("Shimmy", "shimmy", "not needed: there are native environments")
def check_shimmy() -> str:
    import pyspiel
    from shimmy import OpenSpielCompatibilityV0

    import_module("symphony9_env.integrations.openspiel")
    env = OpenSpielCompatibilityV0(pyspiel.load_game("python_symphony9"))
    env.reset(seed=0)
    for _ in range(20):
        env.step(int(env.infos[env.agent_selection]["action_mask"].argmax()))
    return "`OpenSpielCompatibilityV0` on the OpenSpiel game"


@client("Minari", "minari")
def check_minari() -> str:
    run_example("minari_dataset.py", "--games", "5")
    return "datasets of recorded games (example)"


@client("SuperSuit", "supersuit", "waiting seats act too, without effect")
def check_supersuit() -> str:
    import numpy as np
    import supersuit

    from symphony9_env import symphony9_v0

    env = supersuit.black_death_v3(symphony9_v0.parallel_env(mask="info"))
    env = supersuit.pad_action_space_v0(supersuit.pad_observations_v0(env))
    vector = supersuit.pettingzoo_env_to_vec_env_v1(env)
    vector = supersuit.concat_vec_envs_v1(vector, 2, num_cpus=1, base_class="gymnasium")
    _, infos = vector.reset(seed=0)
    for _ in range(40):
        _, _, _, _, infos = vector.step(np.array([info["action_mask"].argmax() for info in infos]))
    return '`black_death`, `pad_observations`, vector environments (`concat_vec_envs_v1`) with `mask="info"`'


@client("BenchMARL", "benchmarl", "needs TorchRL < 0.12")
def check_benchmarl() -> str:
    run_example("benchmarl_task.py", "--frames", "2000", "--games", "4")
    return "MAPPO, IPPO, IQL (example)"


@client("AgileRL PPO", "agilerl", "its generalized advantages end games one decision early: use `use_gae=False`")
def check_agilerl() -> str:
    run_example("agilerl_ppo.py", "--steps", "2048", "--games", "10")
    return "PPO on `make_vec` (example)"


@client("AgileRL IPPO", "agilerl", "masks that are arrays raise a ValueError (lists work); its learning ignores masks")
def check_agilerl_ippo() -> str:
    run_example("agilerl_ippo.py", "--steps", "512", "--games", "2")
    return 'IPPO on `parallel_env(mask="info")` (example)'


@client("d3rlpy", "d3rlpy", "pins Gymnasium 1.0.0: install it with `--no-deps`; `get_minari` shifts episodes; no masks")
def check_d3rlpy() -> str:
    run_example("d3rlpy_offline.py", "--games", "5", "--steps", "50", "--evaluate", "2")
    return "discrete CQL on a `--box` dataset (example)"


@client("Optuna", "optuna")
def check_optuna() -> str:
    run_example("optuna_search.py", "--trials", "2", "--steps", "2048")
    return "`training.train` as a trial (example)"


@client("Ray Tune", "ray")
def check_ray_tune() -> str:
    run_example("ray_tune_search.py", "--trials", "1", "--steps", "2048")
    return "`training.train` as a trial (example)"


@client("TextArena", "textarena", "its wrappers keep texts after `reset`: make a new environment for each game")
def check_textarena() -> str:
    run_example("textarena_game.py")
    return "the text environment (example)"


@client("verifiers", "verifiers", "names of agents in `seats` can start processes: only for the operator")
def check_verifiers() -> str:
    run_example("verifiers_game.py", "--games", "1")
    return "a game of a scripted model against `planner` (example)"


@client("OpenEnv", "openenv", "its plain HTTP routes make a new environment for every request: use the client")
def check_openenv() -> str:
    run_example("openenv_game.py")
    return "a game on a server (example)"


@client("TRL", "trl", "a whole game is about 100,000 characters of context")
def check_trl() -> str:
    run_example("trl_game.py", "--games", "1")
    return "`environment_factory` (example); `GRPOTrainer` in `tests/integrations`"


@client(
    "kaggle-environments",
    "kaggle-environments",
    "pins other versions: install it with `--no-deps`; its first step has no observation; seeds have 32 bits",
)
def check_kaggle() -> str:
    run_example("kaggle_game.py")
    return "the OpenSpiel game, without hidden information (example)"


@client("Inspect", "inspect-ai", "words said with announcements are not passed on")
def check_inspect() -> str:
    with tempfile.TemporaryDirectory() as folder:
        run_example("inspect_benchmark.py", "--logs", folder)
    return "the benchmark as a task (example)"
