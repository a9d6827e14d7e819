"""What a tournament and the benchmark have in common: scheduled games that are played by workers into a folder.

A run that was stopped continues with the games that are missing. `results` and files other than those of the games are
the subclasses' business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, Self, TypeVar

from symphony9_env.arena.console import NO_NOTES, show_progress
from symphony9_env.arena.game_loop import ChunkSizes, GameLoop, WorkerPool, WorkersLost
from symphony9_env.arena.game_players import GamePlayer
from symphony9_env.arena.run_folder import RunFolder
from symphony9_env.arguments import raise_on_termination

# Returns whether to stop, and what to show beside the progress.
Monitor = Callable[[], tuple[bool, Mapping[str, str]]]
Folder = TypeVar("Folder", bound=RunFolder[Any])


def _never_stop() -> tuple[bool, Mapping[str, str]]:
    return False, NO_NOTES


class GameRun(ABC, Generic[Folder]):
    """A run of games in a folder, which is locked until `close`. The pool belongs to the caller."""

    def __init__(self, player: GamePlayer, open_folder: Callable[[], Folder], pool: WorkerPool) -> None:
        self.player = player
        self.pool = pool
        try:
            self.folder = open_folder()
        except ValueError:
            player.close()
            raise

    @property
    @abstractmethod
    def num_played(self) -> int:
        """The number of games in the folder."""

    @abstractmethod
    def plan(self, number: int) -> Any:
        """Return a game by its number, as the player takes it."""

    @abstractmethod
    def save(self, first: int, results: list[Any]) -> None:
        """Save the results of consecutive games, of which `first` is the number of the first."""

    def play_up_to(self, total: int, sizes: ChunkSizes, monitor: Monitor | None = None) -> None:
        """Play the games that are missing, with the first number that is not in the folder first.

        `monitor` is asked before the first game and after each chunk of games.
        """
        number, ask = self.num_played, monitor or _never_stop
        try:
            with raise_on_termination(), show_progress(total, number) as advance:
                loop = GameLoop(self.pool, self.player, self.plan, sizes, advance.announce)
                for results in loop.play(range(number, number if ask()[0] else total)):
                    self.save(number, results)
                    number += len(results)
                    should_stop, notes = ask()
                    advance(len(results), notes)
                    if should_stop:
                        return
        except WorkersLost as error:
            raise ValueError(f"{error}; {self.describe_kept(total)}") from None
        finally:
            self.player.close()

    def describe_kept(self, total: int) -> str:
        """Return how many games are in the folder, and that the same command continues."""
        return f"{self.num_played} of {total} games are kept, and the same command continues"

    def close(self) -> None:
        """End the agents and unlock the folder."""
        self.player.close()
        self.folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
