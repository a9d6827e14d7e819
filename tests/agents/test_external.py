"""Agents outside the package: their messages, their answers, and functions, processes and web addresses that fail."""

from __future__ import annotations

import gc
import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from symphony9_env import BatchedGames, agents, symphony9_v0
from symphony9_env.actions import number
from symphony9_env.agents import AgentFailed, ExternalAgent
from symphony9_env.agents.external import make_message, read_answer
from symphony9_env.agents.process_transport import ProcessTransport, split_command
from symphony9_env.agents.transports import FunctionTransport, NoAnswer
from symphony9_env.envs.aec import RawEnv
from tests.properties.strategies import positions, rngs

LOWEST = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"action": int(min(json.loads(line)["legal"], key=int))}), flush=True)
"""


def write_script(tmp_path: Path, text: str) -> str:
    """Return the name of an agent that is a process running this program."""
    path = tmp_path / "agent.py"
    path.write_text(text)
    return f'stdio:"{sys.executable}" "{path}"'


def deal(num_players: int = 2) -> RawEnv:
    env = symphony9_v0.raw_env(num_players=num_players)
    env.reset(seed=5)
    return env


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for_end(pid: int) -> None:
    for _ in range(100):
        if not is_running(pid):
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still running")


# Messages.


def test_a_message_has_what_the_seat_may_know_and_nothing_else() -> None:
    env = deal(4)
    while env.decision != "bid":
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    bidder = env.deciding_seat
    env.step(number("bid 3"))
    message = make_message(env, 0)
    assert json.loads(json.dumps(message)) == json.loads(json.dumps(message | {"seat": env.deciding_seat}))
    assert message["format"] == "symphony9-agent/1"
    assert message["view"]["format"] == "symphony9-view/1"
    assert message["view"]["seat"] == message["seat"] != bidder
    closed = [event for event in message["events"] if event["kind"] == "hand_closed"]
    assert closed == [{"kind": "hand_closed", "phase": "bid", "player": bidder, "board": bidder}]
    assert not {"task", "game", "seed"} & set(message)
    assert [str(choice["action"]) for choice in message["view"]["choices"]] == list(message["legal"])
    assert message["observation"] == env.observe(env.agent_selection)["observation"].tolist()


def test_a_message_has_the_events_of_the_whole_game() -> None:
    env = deal(3)
    planner = agents.make("planner", seed=1)
    kinds: set[str] = set()
    while env.states["round_index"][0] < 3:
        env.step(planner.choose(env))
        kinds |= {event["kind"] for event in make_message(env, 0)["events"]}
    events = make_message(env, 0)["events"]
    assert events[0]["kind"] == "round_started"
    assert sum(event["kind"] == "round_started" for event in events) == 4
    assert sum("player" in event for event in events) == len(env.history)
    assert {"cube_taken", "hand_closed", "hand_opened"} <= kinds


@settings(max_examples=40, deadline=None)
@given(positions(), rngs())
def test_games_that_the_seat_can_not_tell_apart_give_the_same_message(env: RawEnv, rng: np.random.Generator) -> None:
    assume(not all(env.terminations.values()))
    assert make_message(env.resample(env.deciding_seat, rng), 0) == make_message(env, 0)


def test_messages_of_a_batch_are_those_of_single_games() -> None:
    games = BatchedGames(6, num_players=3, seed=4, ledger=True)
    played: list[list[int]] = [[] for _ in range(6)]
    for _ in range(40):
        actions = games.sample_actions()
        for row, action in enumerate(actions.tolist()):
            played[row].append(action)
        games.step(actions)
    for row in range(6):
        env = RawEnv(num_players=3, ledger=True)
        env.reset(seed=int(games.seeds[row]))
        for action in played[row]:
            env.step(action)
        assert make_message(env, 0) == make_message(games, row)


def test_the_ledger_is_in_a_message_only_where_the_game_has_it() -> None:
    for ledger in (False, True):
        env = RawEnv(num_players=2, ledger=ledger)
        env.reset(seed=1)
        boards = make_message(env, 0)["view"]["position"]["boards"]
        assert (boards[1 - env.deciding_seat]["money"] is not None) == ledger


# Answers.


@pytest.mark.parametrize(
    "answer", ['{"action": 3}', "3", '"3"', '"take mozart"', "[take mozart]", '{"action": "Take Mozart"}']
)
def test_answers(answer: str) -> None:
    assert read_answer(answer, (0, 3)) == 3


@pytest.mark.parametrize(
    "answer", ["null", "true", "{}", '{"action": null}', '{"action": 4}', "[3, 0]", "[" * 100_000, "3.0"]
)
def test_answers_that_mean_no_legal_action(answer: str) -> None:
    with pytest.raises(ValueError, match="no legal action"):
        read_answer(answer, (0, 3))


@pytest.mark.parametrize("answer", [0, "0", np.int64(0), {"action": 0}, {"action": np.int64(0)}, "take handel"])
def test_what_a_function_may_return(answer: Any) -> None:
    assert ExternalAgent(FunctionTransport(lambda message: answer), "own").choose(deal()) == 0


def test_an_illegal_answer_is_refused_with_the_reason() -> None:
    errors: list[str | None] = []

    def decide(message: Any) -> Any:
        errors.append(message.get("error"))
        return 0 if len(errors) == 3 else "eh?"

    agent = ExternalAgent(FunctionTransport(decide), "own")
    assert agent.choose(deal()) == 0
    assert errors[0] is None
    assert all("'eh?' is no legal action" in str(error) for error in errors[1:])


def test_a_failure_names_the_agent_the_reason_and_the_game() -> None:
    def decide(message: Any) -> Any:
        raise RuntimeError("no idea")

    games = BatchedGames(3, num_players=2, seed=1)
    with pytest.raises(AgentFailed, match="agent 'own' raised RuntimeError: no idea") as failed:
        ExternalAgent(FunctionTransport(decide), "own").decide(games, np.array([2, 0]))
    assert failed.value.row == 2
    assert failed.value.agent == "own"
    with pytest.raises(AgentFailed, match="agent 'own' gave no legal action in 3 answers"):
        ExternalAgent(FunctionTransport(lambda message: None), "own").choose(deal())


def test_a_failure_names_the_last_line_of_the_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text(
        "import json\n\ndef decide(message):\n    return parse(message['seat'])\n\n"
        "def parse(text):\n    return json.loads(text)\n"
    )
    with pytest.raises(AgentFailed, match=r"raised TypeError: the JSON object must be .* \(at agent\.py:7\)$"):
        agents.make("agent.py:decide").choose(deal())


# Processes.


def test_a_process_plays_and_ends_when_it_is_closed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    text = f"import os\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()))\n" + LOWEST
    with agents.make(write_script(tmp_path, text), seed=1) as agent:
        assert agent.choose(deal()) == 0
        assert agent.choose(deal()) == 0
        pid = int(pid_file.read_text())
        assert is_running(pid)
    wait_for_end(pid)
    assert agent.choose(deal()) == 0  # it is started again
    pid = int(pid_file.read_text())
    del agent
    gc.collect()
    wait_for_end(pid)


@pytest.mark.parametrize(
    ("text", "timeout", "reason"),
    [
        ("import time\ntime.sleep(1000)", 0.5, "gave no answer within 0.5 seconds"),
        ("import sys\nsys.exit(3)", 20, r"died \(exit status 3\)"),
        ("import sys\nsys.stdin.readline()\nsys.exit(4)", 20, r"died \(exit status 4\)"),
        ("import sys\nfor line in sys.stdin: print('gibberish', flush=True)", 20, "gave no legal action in 3 answers"),
    ],
    ids=["hangs", "dies at once", "dies when asked", "garbage"],
)
def test_a_process_that_fails(tmp_path: Path, text: str, timeout: float, reason: str) -> None:
    with agents.make(write_script(tmp_path, text), timeout=timeout) as agent, pytest.raises(AgentFailed, match=reason):
        agent.choose(deal())


def test_children_of_a_process_end_with_it(tmp_path: Path) -> None:
    child = tmp_path / "child"
    text = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        f"open({str(child)!r}, 'w').write(str(child.pid))\ntime.sleep(1000)"
    )
    transport = ProcessTransport(write_script(tmp_path, text).removeprefix("stdio:"), 3, tmp_path / "log")
    with pytest.raises(NoAnswer, match="no answer"):
        transport.ask(make_message(deal(), 0))
    transport.close()
    wait_for_end(int(child.read_text()))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no sessions on Windows")
def test_a_program_outside_the_group_does_not_delay_the_end(tmp_path: Path) -> None:
    """It holds the pipe of the process for twelve seconds."""
    text = "import subprocess\nsubprocess.Popen(['sleep', '12'], start_new_session=True)\n" + LOWEST
    agent = agents.make(write_script(tmp_path, text))
    assert agent.choose(deal()) == 0
    begun = time.monotonic()
    agent.close()
    assert time.monotonic() - begun < 6


def test_a_process_that_closes_its_output_but_runs_on(tmp_path: Path) -> None:
    text = "import os, time\nos.close(1)\ntime.sleep(1000)"
    with (
        agents.make(write_script(tmp_path, text)) as agent,
        pytest.raises(AgentFailed, match="closed its standard output"),
    ):
        agent.choose(deal())


def test_a_command_on_windows_is_left_to_the_program_to_split(monkeypatch: pytest.MonkeyPatch) -> None:
    command = r'"C:\Program Files\Python\python.exe" C:\agents\mine.py'
    with monkeypatch.context() as windows:
        windows.setattr(sys, "platform", "win32")
        windows.setattr(shutil, "which", {r"C:\Program Files\Python\python.exe": "found"}.get)
        assert split_command(command) == command


def test_standard_error_goes_to_the_log(tmp_path: Path) -> None:
    text = "import sys\nprint('thinking', file=sys.stderr, flush=True)\n" + LOWEST
    with agents.make(write_script(tmp_path, text), log=tmp_path / "agent.log") as agent:
        agent.choose(deal())
    assert (tmp_path / "agent.log").read_text() == "thinking\n"


# Web addresses.


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path in ("/broken", "/silent"):
            self.send_response(500 if self.path == "/broken" else 503)
            self.end_headers()
            self.wfile.write(b"out of order,\n sorry" if self.path == "/broken" else b"")
            return
        if self.path == "/slow":
            time.sleep(1)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"[{min(message['legal'], key=int)}]".encode())

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_web_address(address: str) -> None:
    assert agents.make(f"{address}/good").choose(deal()) == 0
    with pytest.raises(AgentFailed, match=r"broken' answered with status 500: out of order, sorry$"):
        agents.make(f"{address}/broken").choose(deal())
    with pytest.raises(AgentFailed, match=r"silent' answered with status 503$"):
        agents.make(f"{address}/silent").choose(deal())
    with pytest.raises(AgentFailed, match=r"gave no answer within 0\.2 seconds"):
        agents.make(f"{address}/slow", timeout=0.2).choose(deal())


def test_nobody_listens_at_a_web_address() -> None:
    with pytest.raises(AgentFailed, match=r"agent 'http://127\.0\.0\.1:9/' can't be reached"):
        agents.make("http://127.0.0.1:9/").choose(deal())
