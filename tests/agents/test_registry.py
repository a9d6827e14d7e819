"""Agents by name: registered, from entry points, modules and files, with labels; and names that are refused."""

from __future__ import annotations

import importlib.metadata
import json
import runpy
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

from symphony9_env import agents, symphony9_v0
from symphony9_env.agents import Agent, Card, ExternalAgent, registry, save_policy
from symphony9_env.agents.base import Positions, Rows
from symphony9_env.arena import benchmark, tournament
from symphony9_env.arguments import run
from tests.agents.test_protocol import random_weights

FIVE_LINES = '''"""The first choice that takes a cube; else the first of all."""
def decide(message):
    choices = message["view"]["choices"]
    takes = [choice for choice in choices if choice["kind"] == "take"]
    return (takes or choices)[0]["action"]
'''
MORE = """
import numpy as np
from symphony9_env.agents import Agent
from symphony9_env.views import seat_view

class Last(Agent):
    def __init__(self, seed):
        self.seed = seed
    def decide(self, positions, rows):
        seats = positions.states["player"]
        return np.array([max(seat_view(positions.states, row, int(seats[row])).legal) for row in rows])

class Seedless(Last):
    name = "its own name"
    def __init__(self):
        pass

instance = Last(7)
number = 3

def make_last(seed):
    return Last(seed)

def make_function(seed):
    return lambda message: min(message["legal"], key=int)

def make_wrong(s):
    return Last(s)

def make_without_parameters():
    return Last(1)

class NoAgent:
    def decide(self, message):
        return 0

def break_down(seed):
    raise RuntimeError("out of order")

def fail(message):
    raise RuntimeError("no idea")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside the repository with agents, as the current directory."""
    (tmp_path / "five.py").write_text(FIVE_LINES)
    (tmp_path / "more_agents.py").write_text(MORE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [part for part in sys.path if part])  # as for an installed command
    monkeypatch.delitem(sys.modules, "more_agents", raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget afterwards what a test registers."""
    monkeypatch.setattr(registry, "_registered", {})


def choose_first(agent: Agent) -> int:
    env = symphony9_v0.env(num_players=2)
    env.reset(seed=5)
    return agent.choose(env)


# A five-line agent in a file outside the repository plays everywhere (tests/web has the page).


def test_a_five_line_agent_chooses_in_an_environment(folder: Path) -> None:
    agent = agents.make("five.py:decide", seed=1)
    assert agent.name == "five.py:decide"
    assert choose_first(agent) == 0
    assert choose_first(agents.make(f"{folder / 'five.py'}:decide")) == 0


def test_a_five_line_agent_plays_in_a_tournament(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--agents", "random,five=five.py:decide", "--num-players", "2", "--games", "4"]
    tournament.main([*given, "--out", "t", "--records", "0"])
    results = json.loads(Path("t/results.json").read_text())
    assert results["agents"]["five"]["games"] == 4
    assert "five" in capsys.readouterr().out
    Path("five.py").write_text(FIVE_LINES + "# changed\n")
    assert run("tournament", lambda: tournament.main([*given, "--out", "t"])) == 2
    assert "holds another tournament (fingerprints" in capsys.readouterr().err


def test_a_five_line_agent_plays_in_the_benchmark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    monkeypatch.setattr(benchmark, "OPPONENTS", ("random",))
    benchmark.main(["--task", "2p", "--lite", "--agent", "mine=five.py:decide", "--out", "b"])
    results = json.loads(Path("b/results.json").read_text())
    assert results["agent"] == "mine"
    assert results["agent_fingerprint"].startswith("mine five.py:decide ")
    assert results["forfeits"] == 0


def test_a_five_line_agent_is_a_gymnasium_opponent(folder: Path) -> None:
    env = gymnasium.make(
        "symphony9_env:Symphony9-v0", num_players=3, opponents=["five.py:decide", "more_agents:Last"], seat=0
    )
    _, info = env.reset(seed=3)
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    vector = gymnasium.make_vec(
        "symphony9_env:Symphony9-v0", num_envs=3, num_players=2, opponents="five=five.py:decide", seat=0
    )
    _, infos = vector.reset(seed=3)
    for _ in range(10):
        _, _, _, _, infos = vector.step(infos["action_mask"].argmax(axis=1))
    vector.close()


def test_the_examples_play(capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[2] / "examples" / "my_agent.py"
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.count("points, rank") == 2
    assert choose_first(agents.make(f"{example}:Miser", seed=1)) < 18


def test_an_opponent_that_fails_is_named(folder: Path) -> None:
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=3)
    second = 1 - env.deciding_seat
    learner = gymnasium.make("symphony9_env:Symphony9-v0", num_players=2, opponents="more_agents:fail", seat=second)
    with pytest.raises(agents.AgentFailed, match="agent 'more_agents:fail' raised RuntimeError: no idea"):
        learner.reset(seed=3)


# What a name may stand for.


@pytest.mark.parametrize("where", ["more_agents", "more_agents.py"])
@pytest.mark.parametrize(
    ("attribute", "kind", "seed"),
    [
        ("Last", Agent, 4),
        ("Seedless", Agent, 4),
        ("instance", Agent, 7),
        ("make_last", Agent, 4),
        ("make_function", ExternalAgent, 4),
        ("fail", ExternalAgent, 4),
    ],
)
def test_functions_agents_classes_and_factories(
    folder: Path, where: str, attribute: str, kind: type[Agent], seed: int
) -> None:
    name = f"{where}:{attribute}"
    agent = agents.make(name, seed=4)
    assert isinstance(agent, kind)
    assert agent.name == agent.spec == name
    assert agent.seed == seed
    assert agent.fingerprint(2) not in (name, agents.make("other=" + name).fingerprint(2))
    if attribute != "fail":
        assert choose_first(agent) == {"make_function": 0}.get(attribute, 21)


def test_an_instance_is_not_renamed(folder: Path) -> None:
    one, other = agents.make("one=more_agents:instance"), agents.make("other=more_agents:instance")
    assert (one.name, other.name) == ("one", "other")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("more_agents:absent", "agent 'more_agents:absent': module 'more_agents' has no attribute 'absent'"),
        ("no_such_module:x", "agent 'no_such_module:x': No module named 'no_such_module'"),
        ("more_agents:number", "agent 'more_agents:number': is 3; needed: a function of a message"),
        ("more_agents:break_down", "agent 'more_agents:break_down': RuntimeError: out of order"),
        ("absent.py:decide", "agent 'absent.py:decide': .*No such file"),
        ("broken.py:decide", "agent 'broken.py:decide': SyntaxError"),
        ("stdio:", "agent 'stdio:': no command"),
        ("stdio:/no/such/program x", "no such program as /no/such/program"),
        ("stdio:python 'x", "agent .*: No closing quotation"),
        ("http:///path", "agent 'http:///path': has no host"),
        ("http://[", "agent .*: has no host"),
        ("mine=nobody", "unknown agent 'nobody'; .*allowed: random, .*stdio:COMMAND"),
        ("planner=greedy", "'planner' is another agent's name; choose another label"),
        ("=planner", "unknown agent '=planner'"),
        ("search:9@no_such_module:x", "agent 'no_such_module:x': No module named 'no_such_module'"),
        ("search:9@stdio:", "agent 'stdio:': no command"),
        ("search:many", "agent 'search:many'; allowed: search:N"),
    ],
)
def test_what_can_not_be_made_is_refused(folder: Path, name: str, said: str) -> None:
    (folder / "broken.py").write_text("def decide(:\n")
    with pytest.raises(ValueError, match=said):
        agents.make(name)


def test_a_factory_without_a_parameter_seed_is_explained(folder: Path) -> None:
    with pytest.raises(agents.AgentFailed, match="a function that makes agents needs a parameter named seed"):
        choose_first(agents.make("more_agents:make_wrong"))
    for name in ("make_without_parameters", "NoAgent"):
        with pytest.raises(ValueError, match=r"needed: a function of a message, an Agent, or .* with a parameter seed"):
            agents.make(f"more_agents:{name}")


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_bad_timeouts_are_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout="):
        agents.make("planner", timeout=timeout)


def test_a_changed_file_is_loaded_again(folder: Path) -> None:
    assert choose_first(agents.make("five.py:decide")) == 0
    (folder / "five.py").write_text("def decide(message):\n    return max(message['legal'], key=int)\n")
    assert choose_first(agents.make("five.py:decide")) == 21


# Agents and functions themselves.


class Anonymous(Agent):
    def decide(self, positions: Positions, rows: Rows) -> Rows:
        return np.full(len(rows), 21)


def test_an_agent_itself_has_a_name_and_a_seed() -> None:
    agent = agents.make(Anonymous())
    assert repr(agent) == "<agent 'Anonymous', seed 0>"
    assert agent.fingerprint(2).startswith("Anonymous ")
    agent.name = "mine"
    assert (agent.name, Anonymous().name) == ("mine", "Anonymous")


def test_a_function_itself() -> None:
    def decide(message: agents.AgentMessage) -> str:
        return min(message["legal"], key=int)

    agent = agents.make(decide, seed=3)
    assert (agent.name, agent.seed, choose_first(agent)) == ("decide", 3, 0)
    assert agent.fingerprint(2).startswith("decide ")
    assert choose_first(agents.make(partial(decide))) == 0
    assert agents.make(Highest, seed=4).seed == 4


@pytest.mark.parametrize("as_list", [False, True])
def test_functions_and_agents_are_gymnasium_opponents(as_list: bool) -> None:
    def decide(message: agents.AgentMessage) -> str:
        return min(message["legal"], key=int)

    opponents: Any = [decide, agents.make("greedy", seed=1)] if as_list else decide
    env = gymnasium.make("symphony9_env:Symphony9-v0", num_players=3, opponents=opponents, seat=0)
    _, info = env.reset(seed=3)
    env.step(int(np.flatnonzero(info["action_mask"])[0]))
    with pytest.raises(ValueError, match="agent 7; allowed: an Agent, a function of a message"):
        gymnasium.make("symphony9_env:Symphony9-v0", num_players=3, opponents=7)


# Registered names and entry points.


class Highest(Agent):
    def __init__(self, seed: int) -> None:
        self.seed = seed

    def decide(self, positions: Positions, rows: Rows) -> Rows:
        return np.full(len(rows), 21)


def test_registered_names() -> None:
    agents.register("lowest", lambda message: min(message["legal"], key=int))
    agents.register("highest", Highest)
    agents.register("deep", lambda seed: agents.make("search:3@planner", seed))
    assert agents.names()[-3:] == ["lowest", "highest", "deep"]
    assert choose_first(agents.make("lowest")) == 0
    assert choose_first(agents.make("highest", seed=2)) == 21
    assert agents.make("highest", seed=2).seed == 2
    assert agents.make("deep").name == "deep"
    assert agents.make("x=deep").name == "x"
    agents.register("lowest", lambda message: 1)  # replaced
    assert choose_first(agents.make("lowest")) == 1


@pytest.mark.parametrize(
    "name", ["planner", "search", "policy", "", "a b", "a:b", "a=b", "a@b", "a/b", "a\\b", "a,b", '"a"', 3]
)
def test_names_that_can_not_be_registered(name: Any) -> None:
    with pytest.raises(ValueError, match="name="):
        agents.register(name, Highest)


def test_only_what_can_be_called_can_be_registered() -> None:
    with pytest.raises(ValueError, match="factory=3"):
        agents.register("three", 3)  # type: ignore[arg-type]


def test_entry_points(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = "symphony9_env.agents"
    installed = [
        importlib.metadata.EntryPoint("plugin", "more_agents:Last", group),
        importlib.metadata.EntryPoint("broken", "no_such_module:x", group),
        importlib.metadata.EntryPoint("planner", "more_agents:Last", group),  # a built-in name: not replaced
        importlib.metadata.EntryPoint("bad:name", "more_agents:Last", group),
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: installed)
    monkeypatch.syspath_prepend(folder)
    assert [name for name in agents.names() if name not in registry.BUILT_IN] == ["plugin", "broken"]
    assert "more_agents" not in sys.modules  # loaded when it is used
    agent = agents.make("plugin", seed=3)
    assert (agent.name, agent.seed, choose_first(agent)) == ("plugin", 3, 21)
    assert type(agents.make("planner")).__name__ == "ScriptedAgent"
    with pytest.raises(ValueError, match="agent 'broken': No module named 'no_such_module'"):
        agents.make("broken")


# Labels.


def test_labels_show_any_agent_and_hide_no_change(folder: Path) -> None:
    card, path = Card(num_players=(2,), hidden=(4,)), folder / "p.safetensors"
    fingerprints = set()
    for seed in (0, 1):
        save_policy(path, card, random_weights(card, seed))
        fingerprints.add(agents.make("mine=p.safetensors").fingerprint(2))
    fingerprints |= {agents.make(f"mine={name}").fingerprint(2) for name in ("planner", "greedy", "search:3", "policy")}
    assert len(fingerprints) == 6
    agent = agents.make("my planner = planner", seed=1)
    assert (agent.name, agent.spec) == ("my planner", "planner")
    assert agents.make("planner").fingerprint(2) == "planner"


def test_a_path_with_an_equals_sign_is_no_label(folder: Path) -> None:
    card = Card(num_players=(2,), hidden=(4,))
    for path in ("lr=1.safetensors", "runs/lr=1/best.safetensors"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save_policy(path, card, random_weights(card))
        assert agents.make(path).name == path
        assert agents.make(f"mine={path}").name == "mine"


def test_which_names_are_external() -> None:
    own = [
        "planner",
        "search",
        "search:800",
        "search:50@planner",
        "search:50@0:policy",
        "search:50@x:y.safetensors",
        "search:many",
        "think",
        "think:50:a/b.safetensors",
        "think:50:a/b.safetensors@x:y.safetensors",
        "think:a.b:c",
        "policy",
        "level:3",
        "level:x",
        "a/b.safetensors",
        "x:y.safetensors",
    ]
    own += ["mine=planner", "mine=a.safetensors", "nobody"]
    assert not [name for name in own if agents.is_external(name)]
    outside = ["a.b:c", "a:b.c", "x/y.py:c", "C:\\x\\y.py:c", "stdio:x y", "stdio:", "http://x", "https://x?a=b"]
    outside += ["think@a.b:c", "think:50:x.safetensors@stdio:x y"]
    outside += ["search@a.b:c", "search:50@x/y.py:c", "search:5+12@0:stdio:x y", "search:5@think:5@http://x"]
    outside += [f"mine={name}" for name in outside]
    assert [name for name in outside if agents.is_external(name)] == outside


def test_modules_with_odd_attributes_do_not_hide_a_change_of_an_agent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OddModule(ModuleType):
        def __getattr__(self, name: str) -> object:
            return object()

    monkeypatch.setitem(sys.modules, "odd_module", OddModule("odd_module"))
    before = agents.make("five.py:decide", seed=0).fingerprint(2)
    Path("five.py").write_text(FIVE_LINES + "# changed\n")
    assert agents.make("five.py:decide", seed=0).fingerprint(2) != before
