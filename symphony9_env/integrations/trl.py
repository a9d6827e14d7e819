"""TRL: the game as an environment for GRPOTrainer, in which a model plays by calling the tool `play`.

    from trl import GRPOTrainer
    from symphony9_env.integrations.trl import Symphony9ToolEnv, make_dataset

    GRPOTrainer(model, train_dataset=make_dataset(1000), environment_factory=Symphony9ToolEnv, ...)

TRL makes one environment for each completion of a batch and resets it with the row of the data set, so that all
completions of a prompt play the game of the same seed. What the model reads is that of `envs/text.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symphony9_env.envs.opponents import ILLEGAL_REWARD
from symphony9_env.envs.text import TextEnv

if TYPE_CHECKING:
    from datasets import Dataset

INSTRUCTION = "Play this game to its end. Answer every question by calling the tool `play` once.\n\n"


class Symphony9ToolEnv:
    """One game of a model against agents. TRL offers every public method to the model, except those that it calls.

    Options are those of `TextEnv`, and:
        unfinished: what is added to the reward if the model stops before the game is over.

    For options, pass `functools.partial(Symphony9ToolEnv, num_players=3)` as the factory.

    >>> env = Symphony9ToolEnv(num_players=2, opponents="planner", seat=0)
    >>> text = env.reset(seed=7)
    >>> text = env.play("take mozart")
    >>> env.text_env.info()["decision"], env.get_reward()
    ('take', -1.0)
    """

    def __init__(self, *, unfinished: float = ILLEGAL_REWARD, **options: Any) -> None:
        self.text_env = TextEnv(**options)
        self._unfinished = unfinished
        self._reward = 0.0
        self._done = True

    def reset(self, seed: int | None = None, **row: Any) -> str:
        """Deal the game of a row of the data set; return what TRL appends to the prompt: the rules and a question."""
        self._reward, self._done = 0.0, False
        return self.text_env.reset(seed)

    def play(self, action: str) -> str:
        """Play one of the legal actions, and read what happens until you are to decide again.

        Args:
            action: The number or the name of a legal action, for example "3" or "take mozart".

        Returns:
            What has happened, your view of the game and the legal actions; at the end, the outcome.
        """
        if self._done:
            raise ValueError("The game is over: call no more tools.")
        text, reward, self._done, _ = self.text_env.step(str(action))
        self._reward += reward
        return text

    def get_reward(self) -> float:
        """Return the sum of the rewards of the game, and the penalty if it is unfinished."""
        return self._reward if self._done else self._reward + self._unfinished


def make_dataset(games: int, first_seed: int = 0) -> Dataset:
    """Return a data set of this many games with consecutive seeds, for `train_dataset`."""
    from datasets import Dataset

    prompt = [{"role": "user", "content": INSTRUCTION}]
    return Dataset.from_dict({"prompt": [prompt] * games, "seed": list(range(first_seed, first_seed + games))})
