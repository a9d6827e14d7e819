"""What a fuzz target is, and what happens with one input."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from fuzz.mutations import Mutate

MAX_INPUT: Final = 10_000_000  # bytes; larger inputs would be findings of the fuzzer about itself
OWN_PACKAGES: Final = ("symphony9_env.", "training.")


@dataclass(frozen=True)
class Harness:
    """A target that is ready: valid examples, how to change them, and the reader with what follows it."""

    examples: list[bytes]
    mutate: Mutate
    read: Callable[[bytes], None]  # raises a ValueError if it refuses the data


@dataclass(frozen=True)
class Target:
    """A reader of data from outside. `open` prepares it with a folder for its files."""

    name: str
    open: Callable[[Path], AbstractContextManager[Harness]]


class Misbehaved(AssertionError):  # noqa: N818
    """What was read does not behave, although it was accepted."""


@contextmanager
def must_work() -> Iterator[None]:
    """Turn every error in the block into `Misbehaved`: it uses data that was accepted."""
    try:
        yield
    except Exception as error:
        raise Misbehaved(f"accepted, but {type(error).__name__}: {error}") from error


def run_input(harness: Harness, data: bytes) -> str | None:
    """Let a target read an input; return None if it is accepted, and the reason if it is refused as documented.

    Everything else is a finding, and is raised.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            harness.read(data)
        except ValueError as error:
            # A subclass from elsewhere, such as UnicodeDecodeError, got here without the name of the file.
            if type(error) is not ValueError and not type(error).__module__.startswith(OWN_PACKAGES):
                raise
            reason = str(error)
            if not reason.strip() or "\n" in reason:
                raise Misbehaved(f"the reason is not one line: {reason[:200]!r}") from error
            return reason
    return None


def describe_reason(reason: str | None) -> str:
    """Return a reason without numbers and quoted parts, so that equal kinds of refusals are equal."""
    return "accepted" if reason is None else re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "#", reason)[:120]


class Inputs:
    """An endless supply of inputs: the examples changed at random, once or several times."""

    def __init__(self, harness: Harness, seed: int) -> None:
        self._harness = harness
        self._rng = Random(seed)
        self._examples = list(harness.examples)
        self._accepted = list(harness.examples)
        self._reasons: set[str] = set()

    def next(self) -> bytes:
        """Return the next input."""
        data = self._rng.choice(self._accepted if self._rng.random() < 0.5 else self._examples)
        for _ in range(self._rng.choice((1, 1, 1, 1, 2, 3))):
            changed = self._harness.mutate(data, self._rng)
            data = changed if len(changed) <= MAX_INPUT else data
        return data

    def learn(self, data: bytes, reason: str | None, is_new: bool) -> None:
        """Keep an input as an example if it was refused for a new reason, or is new in another way."""
        kind = describe_reason(reason)
        if (is_new or kind not in self._reasons) and len(data) < 100_000:
            self._examples.append(data)
            if reason is None:
                self._accepted.append(data)
        self._reasons.add(kind)
