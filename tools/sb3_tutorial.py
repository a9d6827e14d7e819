"""Measure how MaskablePPO learns through a wrapper that returns the reward of the agent that has just moved.

    python -m tools.sb3_tutorial --steps 200000 --seeds 3

PettingZoo's tutorial on stable-baselines3 trains all seats as one agent through such a wrapper. A step shows the next
agent's observation with the last agent's reward. The same network is also trained on one seat with `Symphony9VecEnv`,
which adds up what its seat receives until its next decision. Both then play against `random`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from symphony9_env import symphony9_v0
from symphony9_env.arena.console import format_table
from symphony9_env.arguments import Parser
from symphony9_env.integrations.sb3 import Symphony9VecEnv

NUM_ENVS: Final = 64
GAMES: Final = 1000  # to evaluate on


class LastMoverEnv(gymnasium.Env[Any, Any]):
    """All seats as one agent: each step shows the seat to decide, and rewards the seat that has moved."""

    def __init__(self) -> None:
        self.aec = symphony9_v0.env(num_players=2, mask="info")
        name = self.aec.possible_agents[0]
        self.observation_space, self.action_space = self.aec.observation_space(name), self.aec.action_space(name)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.aec.reset(seed=seed)
        return self.aec.observe(self.aec.agent_selection), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        mover = self.aec.agent_selection
        self.aec.step(int(action))
        shown = self.aec.observe(self.aec.agent_selection)
        return shown, self.aec._cumulative_rewards[mover], self.aec.terminations[mover], False, {}

    def action_masks(self) -> NDArray[np.int8]:
        mask: NDArray[np.int8] = self.aec.infos[self.aec.agent_selection]["action_mask"]
        return mask


def train(envs: VecEnv, steps: int, seed: int) -> MaskablePPO:
    """Train with the settings of examples/sb3_plain.py."""
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        learning_rate=1e-3,
        n_steps=32,
        batch_size=512,
        n_epochs=4,
        gamma=1.0,
        ent_coef=0.003,
        policy_kwargs={"net_arch": [128, 128], "activation_fn": torch.nn.ReLU},
        seed=seed,
        device="cpu",
    )
    return model.learn(steps)


def evaluate(model: MaskablePPO, seed: int) -> float:
    """Return the share of games won against `random`."""
    games = Symphony9VecEnv(NUM_ENVS, num_players=2, opponents="random")
    games.seed(seed + 2**32)
    rewards, _ = evaluate_policy(model, games, GAMES, deterministic=False, return_episode_rewards=True, warn=False)
    return float(np.mean(np.array(rewards) > 0))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = Parser(prog="python -m tools.sb3_tutorial", description=__doc__)
    parser.add_argument("--steps", type=int, default=200_000, help="decisions to train on (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each kind (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    rows = []
    for seed in range(chosen.seeds):
        kinds = DummyVecEnv([LastMoverEnv] * NUM_ENVS), Symphony9VecEnv(NUM_ENVS, num_players=2, opponents="random")
        wins = [evaluate(train(envs, chosen.steps, seed), seed) for envs in kinds]
        rows.append((str(seed), *(f"{share:.1%}" for share in wins)))
        print(rows[-1], flush=True)
    header = ("seed", "wrapper with the last mover's reward", "Symphony9VecEnv")
    print(format_table(header, rows))


if __name__ == "__main__":
    main(sys.argv[1:])
