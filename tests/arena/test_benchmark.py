"""The benchmark: its tasks and row, and agents of one's own that behave, or don't."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import symphony9_v0
from symphony9_env.actions import number
from symphony9_env.agents.external import AgentFailed, ProcessAgent, is_external, message_for, read_answer
from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark import TASKS, Benchmark, main

BEHAVED = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"action": int(min(json.loads(line)["legal"], key=int))}), flush=True)
"""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol with few games: what is tested is how, not how well."""
    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    monkeypatch.setattr(benchmark, "OPPONENTS", ("greedy", "random"))


def script(tmp_path: Path, text: str) -> str:
    """An agent that is a process running this."""
    path = tmp_path / "agent.py"
    path.write_text(text)
    return f"stdio:{sys.executable} {path}"


def evaluate(agent: str, out: Path, timeout: float = 20.0) -> Benchmark:
    made = Benchmark("2p", agent, out, lite=True, timeout=timeout)
    made.play()
    return made


def test_tasks_cover_players_set_ups_ledger_and_discussion() -> None:
    assert {options.num_players for options in TASKS.values()} == {2, 3, 4}
    for count in (2, 3, 4):
        assert TASKS[f"{count}p-first"].variant.scoring == "A"
        assert TASKS[f"{count}p-full"].variant.tracks == "random"
        assert TASKS[f"{count}p-ledger"].ledger
        assert TASKS[f"{count}p-discussion"].variant.discussion


def test_the_row_of_a_named_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--task", "3p", "--agent", "greedy", "--lite", "--out", str(tmp_path / "out")])
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["protocol"] == "symphony9-benchmark/1"
    assert results["score"] == pytest.approx(sum(row["win_rate"] for row in results["against"].values()) / 2)
    assert f"| 3p | greedy | {100 * results['score']:.1f} % |" in capsys.readouterr().out


def test_the_same_deals_for_everybody_and_the_same_result_again(tmp_path: Path) -> None:
    one, other = evaluate("greedy", tmp_path / "a"), evaluate("greedy", tmp_path / "b")
    assert one.outcomes == other.outcomes
    assert [game.seed for _, game in one.games()] == [
        game.seed for _, game in Benchmark("2p", "random", tmp_path / "c", lite=True, timeout=1).games()
    ]


def test_games_side_by_side_are_those_played_one_by_one(tmp_path: Path) -> None:
    named = evaluate("greedy", tmp_path / "a")
    for outcome, (opponent, game) in zip(named.outcomes, named.games(), strict=True):
        env = symphony9_v0.raw_env(num_players=2)
        env.reset(seed=game.seed)
        seat = game.agents.index(0)
        while not env.terminations["player_0"]:
            own = env.deciding_seat == seat
            env.step((named.own if own else named.opponents[opponent]).choose(env))  # type: ignore[union-attr]
        ranks = [env.infos[agent]["rank"] for agent in env.possible_agents]
        assert outcome.win_share == (ranks[seat] == 1) / ranks.count(1)
        assert outcome.score == env.infos[f"player_{seat}"]["score"]


def test_a_stopped_evaluation_goes_on(tmp_path: Path) -> None:
    whole = evaluate("greedy", tmp_path / "a")
    lines = (tmp_path / "a" / "games.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a" / "games.jsonl").write_text(lines[0] + lines[1][:10])  # killed in the middle of writing
    assert evaluate("greedy", tmp_path / "a").outcomes == whole.outcomes


def test_a_folder_of_another_evaluation_is_refused(tmp_path: Path) -> None:
    evaluate("greedy", tmp_path / "a")
    with pytest.raises(ValueError, match="holds another evaluation"):
        evaluate("random", tmp_path / "a")


def test_a_process_that_behaves(tmp_path: Path) -> None:
    played = evaluate(script(tmp_path, BEHAVED), tmp_path / "out")
    assert len(played.outcomes) == 4
    assert not any(outcome.forfeit for outcome in played.outcomes)


@pytest.mark.parametrize(
    ("text", "timeout", "reason"),
    [
        ("import sys\nfor line in sys.stdin: print('gibberish', flush=True)", 20, "gave no legal action in 3 answers"),
        ("import sys\nfor line in sys.stdin: print('{\"action\": 999}', flush=True)", 20, "'999' is no legal action"),
        ("import time\ntime.sleep(1000)", 0.5, "gave no answer within 0.5 seconds"),
        ("import sys\nsys.exit(3)", 20, r"died \(exit status 3\)"),
        ("import sys\nsys.stdin.readline()\nsys.exit(4)", 20, r"died \(exit status 4\)"),
        ("import sys\nwhile True: sys.stdout.write('x' * 100000)", 20, "gave no legal action"),
        ("import sys\nwhile True: print('never mind')", 20, "gave no legal action"),
    ],
    ids=["garbage", "illegal", "hangs", "dies at once", "dies when asked", "floods", "does not listen"],
)
def test_a_process_that_does_not_forfeits_its_games_and_the_evaluation_goes_on(
    tmp_path: Path, text: str, timeout: float, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    played = evaluate(script(tmp_path, text), tmp_path / "out", timeout)
    assert len(played.outcomes) == 4
    for outcome in played.outcomes:
        assert outcome.win_share == 0
        assert outcome.forfeit is not None
        assert re.search(reason, outcome.forfeit)
    assert played.results()["forfeits"] == 4
    assert capsys.readouterr().err.count("forfeited:") == 4


def test_one_bad_game_does_not_spoil_the_others(tmp_path: Path) -> None:
    """It dies in its first game, once; started anew it plays on."""
    flag = tmp_path / "died"
    dies_once = (
        f"import os, sys\nif not os.path.exists({str(flag)!r}):\n    open({str(flag)!r}, 'w')\n    sys.exit(1)\n"
    )
    played = evaluate(script(tmp_path, dies_once + BEHAVED), tmp_path / "out")
    assert [outcome.forfeit is not None for outcome in played.outcomes] == [True, False, False, False]


def test_it_is_asked_again_with_the_reason(tmp_path: Path) -> None:
    text = BEHAVED.replace(
        "    print(",
        "    if 'error' not in json.loads(line):\n        print('eh?', flush=True)\n        continue\n    print(",
    )
    played = evaluate(script(tmp_path, text), tmp_path / "out")
    assert not any(outcome.forfeit for outcome in played.outcomes)


def test_children_of_a_process_end_with_it(tmp_path: Path) -> None:
    child = tmp_path / "child"
    text = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        f"open({str(child)!r}, 'w').write(str(child.pid))\ntime.sleep(1000)"
    )
    agent = ProcessAgent(script(tmp_path, text).removeprefix("stdio:").split(), 5, tmp_path / "log")
    with pytest.raises(AgentFailed, match="no answer"):
        agent.ask({})
    agent.close()
    status = Path(f"/proc/{child.read_text()}/stat")
    for _ in range(100):
        if not status.exists() or status.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("the child is still there")


def test_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_agents.py").write_text(
        "def lowest(message):\n    return min(message['legal'], key=int)\n"
        "def broken(message):\n    raise RuntimeError('no idea')\nnothing = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert not any(outcome.forfeit for outcome in evaluate("my_agents:lowest", tmp_path / "a").outcomes)
    forfeits = {outcome.forfeit for outcome in evaluate("my_agents:broken", tmp_path / "b").outcomes}
    assert forfeits == {"raised RuntimeError: no idea"}
    for wrong in ("my_agents:absent", "no_such_module:x", "my_agents:nothing"):
        with pytest.raises(ValueError, match=f"--agent {wrong}"):
            evaluate(wrong, tmp_path / "c")


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/broken":
            self.send_error(500)
            return
        if self.path == "/slow":
            time.sleep(1)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"[{min(message['legal'], key=int)}]".encode())

    def log_message(self, *args: Any) -> None:
        """Quiet."""


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_web_address(tmp_path: Path, address: str) -> None:
    assert not any(outcome.forfeit for outcome in evaluate(f"{address}/good", tmp_path / "a").outcomes)
    broken = evaluate(f"{address}/broken", tmp_path / "b").outcomes
    assert all("can't be reached (HTTP Error 500" in str(outcome.forfeit) for outcome in broken)
    slow = evaluate(f"{address}/slow", tmp_path / "c", timeout=0.2).outcomes
    assert all("gave no answer within 0.2 seconds" in str(outcome.forfeit) for outcome in slow)


def test_nobody_listens(tmp_path: Path) -> None:
    outcomes = evaluate("http://127.0.0.1:9/", tmp_path / "a").outcomes
    assert all("can't be reached" in str(outcome.forfeit) for outcome in outcomes)


def test_a_message_has_what_the_seat_may_know_and_nothing_else() -> None:
    env = symphony9_v0.raw_env(num_players=4)
    env.reset(seed=5)
    while env.infos[env.agent_selection]["decision"] != "bid":
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    bid = env.deciding_seat
    env.step(number("bid 3"))
    message = message_for(env, "4p", 0)
    assert message["seat"] != bid
    assert f"player_{bid} closes a hand" in message["moves"]
    assert not any("bid" in move for move in message["moves"])
    assert json.loads(json.dumps(message)) == message
    twin = env.resample(env.deciding_seat, np.random.default_rng(1))
    assert message_for(twin, "4p", 0) == message


@pytest.mark.parametrize(
    "answer", ['{"action": 3}', "3", '"3"', '"take mozart"', "[take mozart]", '{"action": "Take Mozart"}']
)
def test_answers(answer: str) -> None:
    assert read_answer(answer, (0, 3)) == 3


@pytest.mark.parametrize(
    "answer", ["null", "true", "{}", '{"action": null}', '{"action": 4}', "[3, 0]", "[" * 100_000, "3.0"]
)
def test_answers_that_mean_nothing(answer: str) -> None:
    with pytest.raises(ValueError, match="no legal action"):
        read_answer(answer, (0, 3))


def test_names_of_agents_and_of_functions() -> None:
    assert not any(map(is_external, ["planner", "search:800", "search:50@planner", "a/b.safetensors"]))
    assert all(map(is_external, ["a.b:c", "stdio:x y", "http://x", "https://x"]))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--agent", "planner"], "--agent and --task are needed"),
        (["--agent", "planner", "--task", "5p"], "--task 5p; allowed: 2p"),
        (["--agent", "planer", "--task", "2p"], "planer"),
        (["--agent", "planner", "--task", "2p", "--timeout", "0"], "--timeout 0"),
        (["--agent", "stdio:", "--task", "2p"], "no command"),
        (["--agent", "stdio:/no/such/program", "--task", "2p"], "no such program as /no/such/program"),
    ],
)
def test_bad_input(arguments: list[str], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        main([*arguments, "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list"])
    assert capsys.readouterr().out.count("\n") == len(TASKS) + 1
