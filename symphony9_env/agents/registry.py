"""All agents by name: the built-in ones, saved policies, and agents of your own.

    planner, search:800, think:400, policy    built-in agents (`names` lists them)
    level:1 … level:10                        the shipped policy, weakened: a beginner to the policy itself
    think:400:runs/mine/best.safetensors      a saved policy that thinks
    search:800@NAME, think:400@NAME           told that its rivals play as NAME, any agent
    search:800+12, think:400+12@0:policy      with a team, and a known agent in a seat (`roles.py`)
    runs/mine/best.safetensors                a saved policy
    package.module:attribute                  a function of a message, an `Agent`, or a class or function that makes one
    path/to/file.py:attribute                 the same, from a file
    stdio:python my_agent.py                  a process that reads a message a line and answers a line
    http://localhost:8000/decide              a web address that receives each message by POST
    mine=path/to/file.py:attribute            any of these, shown as `mine`

`register` adds a name in this program. An installed package adds one with an entry point in the group
`symphony9_env.agents`, which is loaded when the name is first used.
"""

from __future__ import annotations

import copy
import importlib.metadata
import inspect
import operator
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from symphony9_env.agents.base import Agent
from symphony9_env.agents.external import MAX_TIMEOUT, TIMEOUT, ExternalAgent
from symphony9_env.agents.http_transport import HttpTransport
from symphony9_env.agents.levels import LEVELS, LevelAgent
from symphony9_env.agents.loading import load_file, load_module, load_safely
from symphony9_env.agents.message import AgentMessage
from symphony9_env.agents.policy import SUFFIX, PolicyAgent, ShippedPolicy
from symphony9_env.agents.process_transport import FunctionProcess, ProcessTransport
from symphony9_env.agents.roles import KNOWN_PATTERN, ROLES_HELP, TEAM_PATTERN, parse_roles
from symphony9_env.agents.scripted import ScriptedAgent
from symphony9_env.agents.search import DEFAULT_PLAYOUTS, SearchAgent
from symphony9_env.agents.strategies import STRATEGIES
from symphony9_env.agents.think import DEFAULT_LINES, ThinkAgent
from symphony9_env.agents.transports import FunctionTransport
from symphony9_env.options import check_seed, draw_seed
from symphony9_env.suggestions import show, suggest

SEARCH: Final = "search"
THINK: Final = "think"
SHIPPED: Final = "policy"
BUILT_IN: Final = (*STRATEGIES, SEARCH, THINK, SHIPPED, *LEVELS)
MAX_PLAYOUTS: Final = 1_000_000  # of `search:N`; also the most lines of `think:N`
ENTRY_POINTS: Final = "symphony9_env.agents"

_STDIO: Final = "stdio:"
_HTTP: Final = ("http://", "https://")
_IDENTIFIERS: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_FILE_ATTRIBUTE: Final = re.compile(rf"(.+\.py):({_IDENTIFIERS})")
_MODULE_ATTRIBUTE: Final = re.compile(rf"({_IDENTIFIERS}):({_IDENTIFIERS})")
_SEARCH_NAME: Final = re.compile(
    rf"{SEARCH}(?::(?P<playouts>[0-9]{{1,10}}))?{TEAM_PATTERN}(?:@{KNOWN_PATTERN}(?P<rivals>.+))?"
)
_THINK_NAME: Final = re.compile(
    rf"{THINK}(?::(?P<lines>[0-9]{{1,10}}))?(?::(?P<policy>.+?{re.escape(SUFFIX)}))?{TEAM_PATTERN}"
    rf"(?:@{KNOWN_PATTERN}(?P<rivals>.+))?"
)
_SIMULATING_PREFIX: Final = rf"(?P<kind>{SEARCH}|{THINK})(?![^:@+])"
_LEVEL_PREFIX: Final = "level(?![^:])"
_LABEL: Final = re.compile(r"([^:=@/\\]+)=(.+)")
_NAME: Final = re.compile(r"[^\s:=@/\\,\"']+")

Factory = Callable[..., Agent] | Callable[[AgentMessage], Any]

_registered: dict[str, Factory] = {}


def names() -> list[str]:
    """Return the names that `make` knows: built-in, registered, and from entry points.

    `search` and `think` also take a number of playouts or lines, as in `search:100`.

    >>> names()[:4]
    ['random', 'greedy', 'investor', 'planner']
    """
    return list(dict.fromkeys((*BUILT_IN, *_registered, *_list_entry_points())))


def list_allowed() -> str:
    """Return everything that `make` takes, for help texts and error messages."""
    plain = [name for name in names() if name not in LEVELS]
    return (
        f"{', '.join(plain)}, {LEVELS[0]} to {LEVELS[-1]}, search:N, search:N@NAME, think:N, think:N@NAME, "
        "think:N:POLICY, search:N+SEATS or think:N+SEATS for a team, the path of a saved policy, "
        "package.module:attribute, path/to/file.py:attribute, "
        "stdio:COMMAND, http://ADDRESS, or LABEL=AGENT to show one of these as LABEL"
    )


def register(name: str, factory: Factory) -> None:
    """Add an agent by name in this program; a second call with the same name replaces the first.

    `factory` is a function of a message (see `symphony9_env.agents.external`), or a function or class with a parameter
    `seed` that returns an `Agent`.

    >>> register("first", lambda message: min(message["legal"], key=int))
    >>> make("first").name
    'first'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"name={name!r}; allowed: text without spaces, quotes, commas and any of : = @ / \\")
    if name in BUILT_IN:
        raise ValueError(f"name={name!r} is a built-in agent; choose another name")
    if not callable(factory):
        raise ValueError(f"factory={factory!r}; allowed: a function of a message, or one of seed= that makes an Agent")
    _registered[name] = factory


def is_external(name: str) -> bool:
    """Return whether a name makes `make` import other code or talk to a process or web address.

    That is so for `package.module:attribute`, `path/to/file.py:attribute`, `stdio:` and `http:`, with a label or
    without. Registered names and entry points are not external: whoever runs the program has chosen them.
    """
    text = split_label(name)[1]
    if text.startswith((_STDIO, *_HTTP)):
        return True
    if re.match(_SIMULATING_PREFIX, text):
        return is_external(_find_rivals(text))
    if text.endswith(SUFFIX) or re.match(_LEVEL_PREFIX, text):
        return False
    return bool(_FILE_ATTRIBUTE.fullmatch(text) or _MODULE_ATTRIBUTE.fullmatch(text))


def is_process_or_address(name: str) -> bool:
    """Return whether a name stands for a process or a web address, also as the rivals of `search` and `think`.

    >>> is_process_or_address("mine=stdio:python my_agent.py"), is_process_or_address("my_agent.py:decide")
    (True, False)
    """
    return _find_innermost(name).startswith((_STDIO, *_HTTP))


def is_registered(name: str) -> bool:
    """Return whether a name was added by `register`, which other programs don't know; also as the rivals of another."""
    return _find_innermost(name) in _registered


def _find_innermost(name: str) -> str:
    """Return the agent that a name stands for; of one that is told of its rivals, the agent that they play as."""
    text = split_label(name)[1]
    rivals = _find_rivals(text)
    return _find_innermost(rivals) if rivals else text


def _find_rivals(text: str) -> str:
    """Return the agent that `search` or `think` is told that its rivals play as; an empty text if there is none."""
    found = _SEARCH_NAME.fullmatch(text) or _THINK_NAME.fullmatch(text)
    return found["rivals"] or "" if found else ""


def find_policy_files(name: str) -> list[str]:
    """Return the paths of the saved policies that a name makes `make` read; none if it stands for something else."""
    text = split_label(name)[1]
    if re.match(_SIMULATING_PREFIX, text):
        found = _THINK_NAME.fullmatch(text)
        return ([found["policy"]] if found and found["policy"] else []) + find_policy_files(_find_rivals(text))
    if text.endswith(SUFFIX):
        return [text]
    is_other = text in names() or is_external(text)
    return [text] if not is_other and (os.path.exists(text) or os.path.dirname(text)) else []


def make(
    name: str | os.PathLike[str] | Agent | Factory,
    seed: int | None = None,
    *,
    num_threads: int = 1,
    timeout: float = TIMEOUT,
    log: Path | None = None,
    isolate: bool = False,
) -> Agent:
    """Return an agent by its name, or by the path of a saved policy; an `Agent` is returned as it is.

    Args:
        name: as the documentation of this module lists, or what `register` takes, such as a function of a message.
        seed: the same seed plays the same; drawn at random if None.
        num_threads: threads for `search` and `think` in many games at once.
        timeout: seconds that a process or a web address has for one answer.
        log: file for what a process writes to its standard error.
        isolate: ask a function that has a name in a process of its own, so that it can't reach the game in memory.

    >>> make("search:100", seed=1)
    <agent 'search:100', seed 1>
    """
    if isinstance(name, Agent):
        return name
    if not isinstance(name, str | os.PathLike) and not callable(name):
        raise ValueError(f"agent {name!r}; allowed: an Agent, a function of a message, or a name: {list_allowed()}")
    if not 0 < timeout <= MAX_TIMEOUT:
        raise ValueError(f"timeout={timeout!r}; allowed: more than 0 and up to {MAX_TIMEOUT:g} seconds")
    chosen = draw_seed() if seed is None else check_seed(seed)
    if isinstance(name, os.PathLike):
        return PolicyAgent.load(name, chosen)
    if not isinstance(name, str):
        return _adapt(name, getattr(name, "__name__", type(name).__name__), chosen)
    label, text = split_label(name)
    if label is not None and label in names():
        raise ValueError(f"agent {name!r}: {label!r} is another agent's name; choose another label")
    if found := re.match(_SIMULATING_PREFIX, text):  # the rivals may be an attribute of a module or file
        make_simulating = _make_search if found["kind"] == SEARCH else _make_think
        agent: Agent = make_simulating(text, chosen, num_threads, timeout=timeout, log=log, isolate=isolate)
    elif isolate and (isolated := _isolate(text, chosen, timeout, log)) is not None:
        agent = isolated
    elif is_external(text):
        agent = _make_external(text, chosen, timeout, log)
    else:
        agent = _make_named(text, chosen)
    agent.spec = agent.name
    agent.name = label or agent.name
    return agent


def split_label(text: str) -> tuple[str | None, str]:
    """Return the label, if there is one, and the name behind it. A file with a `=` in its path has no label."""
    found = _LABEL.fullmatch(text)
    if found is None or os.path.exists(text):
        return None, text
    return found[1].strip(), found[2].strip()


def _make_named(text: str, seed: int) -> Agent:
    if text in STRATEGIES:
        return ScriptedAgent(text, seed)
    if text == SHIPPED:
        return ShippedPolicy(seed)
    if text in LEVELS:
        return LevelAgent(LEVELS.index(text) + 1, seed)
    if text.endswith(SUFFIX):
        return PolicyAgent.load(text, seed)
    if (factory := _find_factory(text)) is not None:
        return _adapt(factory, text, seed)
    if re.match(_LEVEL_PREFIX, text):
        raise ValueError(f"agent {show(text)}; allowed: {LEVELS[0]} to {LEVELS[-1]}")
    if os.path.exists(text) or os.path.dirname(text):
        return PolicyAgent.load(text, seed)
    raise ValueError(f"unknown agent {text!r}; {suggest(text, names())}allowed: {list_allowed()}")


def _make_search(text: str, seed: int, num_threads: int, **of_rivals: Any) -> SearchAgent:
    """Make a search; `of_rivals` are further arguments to make the agent that its rivals play as."""
    found = _SEARCH_NAME.fullmatch(text)
    playouts = int(found["playouts"] or DEFAULT_PLAYOUTS) if found else 0
    roles = parse_roles(found) if found else None
    if found is None or roles is None or not 1 <= playouts <= MAX_PLAYOUTS:
        raise ValueError(
            f"agent {show(text)}; allowed: search:N with 1 to {MAX_PLAYOUTS} playouts a decision, "
            f"and behind it @ and the agent that the rivals play as; {ROLES_HELP}"
        )
    rivals = make(found["rivals"], seed, **of_rivals) if found["rivals"] else None
    return SearchAgent(playouts, seed, rivals=rivals, roles=roles, num_threads=num_threads)


def _make_think(text: str, seed: int, num_threads: int, **of_rivals: Any) -> ThinkAgent:
    """Make a policy that thinks; `of_rivals` are further arguments to make the agent that its rivals play as."""
    found = _THINK_NAME.fullmatch(text)
    num_lines = int(found["lines"] or DEFAULT_LINES) if found else 0
    roles = parse_roles(found) if found else None
    if found is None or roles is None or not 1 <= num_lines <= MAX_PLAYOUTS:
        raise ValueError(
            f"agent {show(text)}; allowed: think:N with 1 to {MAX_PLAYOUTS} lines a decision, think:N:POLICY with the "
            f"path of a saved policy ({SUFFIX}), and behind either @ and the agent that the rivals play as; "
            f"{ROLES_HELP}"
        )
    policy = PolicyAgent.load(found["policy"], seed) if found["policy"] else None
    rivals = make(found["rivals"], seed, **of_rivals) if found["rivals"] else None
    return ThinkAgent(num_lines, seed, policy=policy, rivals=rivals, roles=roles, num_threads=num_threads)


# Agents of your own.


def _list_entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    found = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return {point.name: point for point in found if _NAME.fullmatch(point.name)}


def _find_factory(name: str) -> Any:
    """Return what a name was registered with, by this program or by an entry point; None if it was not."""
    if name in _registered:
        return _registered[name]
    point = _list_entry_points().get(name)
    return None if point is None else load_safely(name, point.load)


def _make_external(text: str, seed: int, timeout: float, log: Path | None) -> Agent:
    if text.startswith(_STDIO):
        return ExternalAgent(ProcessTransport(text.removeprefix(_STDIO), timeout, log), text, seed)
    if text.startswith(_HTTP):
        return ExternalAgent(HttpTransport(text, timeout), text, seed)
    module, attribute = text.rsplit(":", 1)
    load = load_file if _FILE_ATTRIBUTE.fullmatch(text) else load_module
    return _adapt(load_safely(text, lambda: operator.attrgetter(attribute)(load(module))), text, seed)


def _isolate(text: str, seed: int, timeout: float, log: Path | None) -> Agent | None:
    """Return a function that can be imported by its name, in a process of its own; None if the name is of another kind.

    Only that process imports it: code that is imported here could start a thread that reads the game.
    """
    is_attribute = is_external(text) and not text.startswith((_STDIO, *_HTTP))
    is_entry_point = text not in (*BUILT_IN, *_registered) and text in _list_entry_points()
    if not is_attribute and not is_entry_point:
        return None
    transport = FunctionProcess(text, timeout, log)
    if transport.describe()["kind"] == "function":
        return ExternalAgent(transport, text, seed)
    transport.close()
    return None


def _adapt(found: Any, name: str, seed: int) -> Agent:
    """Turn what a name stands for into an `Agent`: an agent, a class or function that makes one, or a function."""
    if isinstance(found, Agent):
        made: Any = copy.copy(found)  # it gets a name here
    elif _takes_seed(found):
        made = load_safely(name, lambda: found(seed=seed))
    elif isinstance(found, type) and issubclass(found, Agent):
        made = load_safely(name, found)
    else:
        made = found
    if isinstance(made, Agent):
        if "seed" not in vars(made) and made.seed == Agent.seed:
            made.seed = seed
        made.name = name
        return made
    if not _takes_message(made):
        needed = "a function of a message, an Agent, or a class or function with a parameter seed that makes an Agent"
        raise ValueError(f"agent {name!r}: is {made!r}; needed: {needed}")
    return ExternalAgent(FunctionTransport(made), name, seed)


def _takes_message(found: Any) -> bool:
    """Return whether something is a function that can be called with one argument, as far as that can be seen."""
    if isinstance(found, type) or not callable(found):
        return False
    try:
        inspect.signature(found).bind(None)
    except TypeError:
        return False
    except ValueError:  # a built-in function without a signature
        pass
    return True


def _takes_seed(found: Any) -> bool:
    try:
        return "seed" in inspect.signature(found).parameters
    except (TypeError, ValueError):  # not callable, or a built-in function without a signature
        return False
