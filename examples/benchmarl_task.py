"""BenchMARL: the game as a task, for its multi-agent algorithms.

    pip install . benchmarl "torchrl<0.12"      # in an environment of its own: BenchMARL 1.5 needs an older TorchRL
    python examples/benchmarl_task.py --algorithms mappo,ippo,iql --frames 6000

All seats share one network. In each frame every seat acts, and only the action of the seat to decide counts; the others
have a mask of ones. At the end of the game every seat receives its reward in the same frame. Each policy then plays one
seat against random agents.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium
import torch
from benchmarl.algorithms import algorithm_config_registry
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from tensordict import TensorDict
from torchrl.envs import EnvBase, ExplorationType, PettingZooWrapper, set_exploration_type

from symphony9_env import symphony9_v0
from symphony9_env.engine import MAX_DECISIONS

DISCRETE = ("mappo", "ippo", "iql", "vdn", "qmix", "masac", "isac")


class TrainingResult(NamedTuple):
    frames: int
    win_rate: float  # of one seat against random agents


class Symphony9Task(PettingZooClass):
    """Symphony No. 9; the settings are the options of `parallel_env`."""

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], EnvBase]:
        return lambda: PettingZooWrapper(
            symphony9_v0.parallel_env(mask="info", **self.config),
            categorical_actions=True,
            return_state=True,
            seed=seed,
            device=device,
        )

    def supports_discrete_actions(self) -> bool:
        return True

    def has_state(self) -> bool:
        return True

    def has_render(self, env: EnvBase) -> bool:
        return False

    def max_steps(self, env: EnvBase) -> int:
        return MAX_DECISIONS

    def info_spec(self, env: EnvBase) -> None:
        return None

    @staticmethod
    def env_name() -> str:
        return "symphony9"


def make_experiment(algorithm: str, num_players: int, frames: int, seed: int, folder: str) -> Experiment:
    settings: Any = ExperimentConfig.get_from_yaml()
    settings.max_n_frames = frames
    settings.gamma = 1.0  # episodes are finite, and the only reward comes at the end
    settings.lr = 1e-3
    settings.on_policy_collected_frames_per_batch = settings.off_policy_collected_frames_per_batch = 2000
    settings.on_policy_n_envs_per_worker = settings.off_policy_n_envs_per_worker = 4
    settings.on_policy_n_minibatch_iters = 4
    settings.off_policy_n_optimizer_steps = 50
    settings.evaluation = False
    settings.loggers = []
    settings.save_folder = folder  # for its checkpoints
    settings.checkpoint_at_end = False
    layers = MlpConfig(num_cells=[128, 128], layer_class=torch.nn.Linear, activation_class=torch.nn.ReLU)
    return Experiment(
        task=Symphony9Task(f"{num_players}_players", {"num_players": num_players}),
        algorithm_config=algorithm_config_registry[algorithm].get_from_yaml(),
        model_config=layers,
        critic_model_config=layers,
        seed=seed,
        config=settings,
    )


def play(policy: Any, num_players: int, seed: int) -> bool:
    """Play a game against random agents; return whether the policy wins."""
    env = gymnasium.make("symphony9_env:Symphony9-v0", num_players=num_players, opponents="random")
    observation, info = env.reset(seed=seed)
    reward: Any = 0
    terminated = False
    while not terminated:
        mask = torch.from_numpy(info["action_mask"]).bool()
        seen = TensorDict({"observation": torch.from_numpy(observation), "action_mask": mask})
        group = seen.expand(num_players)  # the policy expects all seats, and decides for each by itself
        action = policy(TensorDict({"player": group}))["player", "action"][0].item()
        observation, reward, terminated, _, info = env.step(action)
    return bool(reward > 0)


def evaluate(experiment: Experiment, num_players: int, games: int, seed: int) -> float:
    """Return the share of games that are won: actions sampled if the algorithm is on-policy, else the best ones."""
    kind = ExplorationType.RANDOM if experiment.on_policy else ExplorationType.DETERMINISTIC
    with torch.no_grad(), set_exploration_type(kind):
        return sum(play(experiment.policy, num_players, seed + game) for game in range(games)) / games


def main(argv: Sequence[str] | None = None) -> dict[str, TrainingResult]:
    """Run the algorithms one after the other."""
    parser = argparse.ArgumentParser(description="BenchMARL's algorithms on Symphony No. 9.")
    parser.add_argument("--algorithms", default="mappo,ippo,iql", help=f"of {', '.join(DISCRETE)}")
    parser.add_argument("--frames", type=int, default=6000, help="decisions to train on (default: %(default)s)")
    parser.add_argument("--num-players", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--games", type=int, default=200, help="games to evaluate on (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    results = {}
    for algorithm in args.algorithms.split(","):
        with tempfile.TemporaryDirectory() as folder:
            experiment = make_experiment(algorithm, args.num_players, args.frames, args.seed, folder)
            experiment.run()
        win_rate = evaluate(experiment, args.num_players, args.games, args.seed)
        results[algorithm] = TrainingResult(int(experiment.total_frames), win_rate)
        print(f"{algorithm}: trained on {experiment.total_frames} frames")
        print(f"wins against random: {win_rate:.0%} of {args.games} games; par {1 / args.num_players:.0%}")
    return results


if __name__ == "__main__":
    main()
