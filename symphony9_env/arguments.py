"""Command lines: a parser with one-line errors, and arguments derived from the options.

>>> parser = Parser(prog="example")
>>> add_variant_arguments(parser)
>>> read_variant(parser.parse_args(["--num-players", "3", "--discussion"])).discussion
True
"""

from __future__ import annotations

import argparse
import csv
import importlib
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import Field
from types import FrameType, ModuleType
from typing import Any, Final, NoReturn

from symphony9_env.options import OPTION_FIELDS, VARIANT_FIELDS, VARIANT_NAMES, Variant, option_type

INTERRUPTED: Final = 130  # exit status after Ctrl-C
TERMINATED: Final = 143  # exit status after SIGTERM, which Slurm and containers send before they kill a process
WRONG_USE: Final = 2  # exit status after bad input
GATE_FAILED: Final = 3  # exit status of `symphony9 gate` after an error: 0, 1 and 2 are its verdicts
RETRY_SECONDS: Final = 0.1  # until Ctrl-C is tried again where it can't be handled


class Parser(argparse.ArgumentParser):
    """A parser that keeps the lines of its description and reports an error in one line."""

    def __init__(
        self, prog: str | None = None, description: str | None = None, error_status: int = WRONG_USE, **settings: Any
    ) -> None:
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(prog=prog, description=description, formatter_class=formatter, **settings)
        self.error_status = error_status

    def error(self, message: str) -> NoReturn:
        self.exit(self.error_status, f"{self.prog}: {message} (--help shows what is allowed)\n")


class Terminated(KeyboardInterrupt):
    """SIGTERM asked the program to end; a program that handles this signal raises it where Ctrl-C would."""


def run(command: str, main: Callable[[], int | None], error_status: int = WRONG_USE) -> int:
    """Run a command and return its exit status: what `main` returns, or 0 for None.

    Report bad input in one line, with the exit status `error_status`. Return 130 after Ctrl-C, 143 after SIGTERM.
    """
    try:
        with _raise_at(signal.SIGINT, signal.default_int_handler, KeyboardInterrupt):
            return main() or 0
    except (ValueError, OSError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return error_status
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED


def raise_on_termination() -> AbstractContextManager[None]:
    """Raise `Terminated` in this block at SIGTERM, so that a command ends as after Ctrl-C."""
    return _raise_at(signal.SIGTERM, signal.SIG_DFL, Terminated)


def postpone_signal(number: int, frame: FrameType | None) -> bool:
    """Repeat a signal a little later if its handler runs in a callback of the compiler; return whether it does.

    Python prints and ignores an exception that is raised there.
    """
    is_in_callback = any("llvmlite" in one.f_code.co_filename for one, _ in traceback.walk_stack(frame))
    if is_in_callback:
        threading.Timer(RETRY_SECONDS, signal.raise_signal, [number]).start()
    return is_in_callback


@contextmanager
def _raise_at(signal_number: int, default: Any, exception: type[KeyboardInterrupt]) -> Iterator[None]:
    """Raise an exception at a signal, but not in callbacks of the compiler, which would print and ignore it.

    Do nothing outside the main thread, or where the handler is not the default one: ignored, or somebody else's.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        if not postpone_signal(number, frame):
            raise exception

    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal_number) != default:
        yield
        return
    signal.signal(signal_number, interrupt)
    try:
        yield
    finally:
        signal.signal(signal_number, default)


def import_command(module: str, extra: str) -> ModuleType:
    """Import the module of a command; if a package of its extra is missing, raise a ValueError that says so."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "symphony9_env"):
            raise
        raise ValueError(f'{missing} is not installed; pip install "symphony9-env[{extra}]"') from None


def split_names(text: str) -> list[str]:
    """Return agents' names from a list with commas, quoted as in a CSV file where a name contains a comma.

    >>> split_names('planner, "mine=stdio:python agent.py --levels 1,2"')
    ['planner', 'mine=stdio:python agent.py --levels 1,2']
    """
    try:
        return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [""])]
    except csv.Error:  # a line break outside quotes, or a name of more than 131,072 characters
        raise ValueError(f"{text[:100]!r}; allowed: agents on one line, separated by commas") from None


def add_option_arguments(parser: argparse.ArgumentParser, names: Collection[str], title: str = "the game") -> None:
    """Add an argument for each of these options, with its help and default."""
    group = parser.add_argument_group(title)
    for option in OPTION_FIELDS:
        if option.name in names:
            add_option_argument(group, option)


def add_option_argument(parser: Any, option: Field[Any]) -> None:
    """Add the argument of one option to a parser or a group; a flag can be set and cleared: `--x`, `--no-x`."""
    about, choices, kind = option.metadata["help"], option.metadata["choices"], option_type(option)
    if kind is bool:
        action = argparse.BooleanOptionalAction
        preset = " (default: yes)" if option.default else ""
        parser.add_argument(_flag(option.name), action=action, default=option.default, help=about + preset)
        return
    allowed = f": {', '.join(map(str, choices))}" if choices else ""
    default = "" if option.default is None else f" (default: {option.default})"
    parser.add_argument(_flag(option.name), type=kind, default=option.default, help=f"{about}{allowed}{default}")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def read_options(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the values that were chosen for these options, by name."""
    return {name: getattr(arguments, name) for name in names}


def add_variant_arguments(parser: argparse.ArgumentParser) -> None:
    """Add an argument for every option of a `Variant`."""
    add_option_arguments(parser, VARIANT_NAMES)


def read_variant(arguments: argparse.Namespace) -> Variant:
    """Return the variant that was chosen; a component file is read at once, so that errors in it come early."""
    variant = Variant(**read_options(arguments, VARIANT_NAMES))
    variant.load_components()
    return variant


def format_variant(variant: Variant) -> list[str]:
    """Return the arguments from which `read_variant` reads this variant."""
    values = variant.as_json()
    return [argument for option in VARIANT_FIELDS for argument in format_option(option, values[option.name])]


def format_option(option: Field[Any], value: Any) -> list[str]:
    """Return the arguments from which an option is read; none for a path or a flag that has its default."""
    if value is None or (isinstance(value, bool) and value == option.default):
        return []
    if isinstance(value, bool):
        return [_flag(option.name if value else f"no_{option.name}")]
    return [_flag(option.name), str(value)]
