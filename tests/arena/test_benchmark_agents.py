"""The games that agents outside the package play or forfeit in the benchmark."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from symphony9_env.agents.message import AgentMessage
from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark import Benchmark
from symphony9_env.arena.benchmark_games import GameOutcome
from tests.agents.test_external import LOWEST, write_script
from tests.arena.evaluations import evaluate

pytestmark = pytest.mark.usefixtures("short_evaluations")


def test_a_process_that_behaves(tmp_path: Path) -> None:
    played = evaluate(write_script(tmp_path, LOWEST), tmp_path / "out")
    assert len(played.outcomes) == 4
    assert not any(outcome.forfeit for outcome in played.outcomes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import sys\nfor line in sys.stdin: print('gibberish', flush=True)", "gave no legal action in 3 answers"),
        ("import sys\nfor line in sys.stdin: print('{\"action\": 999}', flush=True)", "'999' is no legal action"),
        ("import sys\nwhile True: print('never mind')", "gave no legal action"),
    ],
    ids=["garbage", "illegal", "does not listen"],
)
def test_a_process_that_plays_badly_forfeits_its_games_and_the_evaluation_goes_on(
    tmp_path: Path, text: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    played = evaluate(write_script(tmp_path, text), tmp_path / "out")
    assert len(played.outcomes) == 4
    for outcome in played.outcomes:
        assert outcome.win_share == 0
        assert outcome.forfeit is not None
        assert re.search(reason, outcome.forfeit)
    assert played.results()["forfeits"] == 4
    assert capsys.readouterr().err.count("forfeited:") == 4


@pytest.mark.parametrize(
    ("text", "timeout", "reason"),
    [
        ("import time\ntime.sleep(1000)", 0.5, "gave no answer within 0.5 seconds"),
        ("import sys\nsys.exit('no model')", 20, r"died \(exit status 1\): no model"),
        ("import sys\nsys.stdin.readline()\nsys.exit(4)", 20, r"died \(exit status 4\)"),
        ("import sys\nwhile True: sys.stdout.write('x' * 100000)", 20, "without the end of a line"),
    ],
    ids=["hangs", "dies at once", "dies when asked", "floods"],
)
def test_a_process_that_never_answers_stops_the_evaluation_and_nothing_is_stored(
    tmp_path: Path, text: str, timeout: float, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason + ".*; stopped, because it gave no legal answer in 3 games in a row"):
        evaluate(write_script(tmp_path, text), tmp_path / "out", timeout)
    assert not (tmp_path / "out" / "games.jsonl").exists()
    assert not (tmp_path / "out" / "results.json").exists()


def test_a_script_that_does_not_exist_is_no_forfeit(tmp_path: Path) -> None:
    missing = f'stdio:"{sys.executable}" "{tmp_path / "missing.py"}"'
    with pytest.raises(ValueError, match=r"missing\.py.*No such file.*; stopped"):
        evaluate(missing, tmp_path / "out")
    (tmp_path / "missing.py").write_text(LOWEST)
    assert evaluate(missing, tmp_path / "out").results()["forfeits"] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="makes a file executable")
def test_a_program_that_can_not_be_started_is_an_error_before_any_game(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_bytes(b"\x00 no program")
    program.chmod(0o755)
    with pytest.raises(ValueError, match=r"^agent 'stdio:.*' can't be started \([^)]*\)$"):  # not after three games
        evaluate(f"stdio:{program}", tmp_path / "out")
    assert not (tmp_path / "out" / "games.jsonl").exists()


def test_a_program_that_stops_working_later_stops_the_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It plays one game and dies in the second. Started again, it dies at once."""
    monkeypatch.setattr(benchmark, "LITE_GAMES", 3)
    dies = LOWEST.replace("for line", "import os\nfor line").replace(
        "    print(", "    if os.path.exists('FLAG'): os._exit(7)\n    print("
    )
    flag = tmp_path / "flag"
    agent = write_script(tmp_path, dies.replace("FLAG", str(flag)))
    with Benchmark("2p", agent, tmp_path / "out", lite=True, timeout=20) as made:
        add = made._add

        def add_and_break(outcomes: list[GameOutcome]) -> None:
            add(outcomes)
            flag.touch()

        made._add = add_and_break  # type: ignore[method-assign]
        with pytest.raises(ValueError, match=r"died \(exit status 7\); stopped"):
            made.play()
    assert [outcome.forfeit for outcome in made.outcomes] == [None, "died (exit status 7)"]


def test_one_bad_game_does_not_spoil_the_others(tmp_path: Path) -> None:
    """It dies in its first game, once; restarted, it plays on."""
    flag = tmp_path / "died"
    dies_once = (
        f"import os, sys\nif not os.path.exists({str(flag)!r}):\n    open({str(flag)!r}, 'w')\n    sys.exit(1)\n"
    )
    played = evaluate(write_script(tmp_path, dies_once + LOWEST), tmp_path / "out")
    assert [outcome.forfeit is not None for outcome in played.outcomes] == [True, False, False, False]


def test_it_is_asked_again_with_the_reason(tmp_path: Path) -> None:
    text = LOWEST.replace(
        "    print(",
        "    if 'error' not in json.loads(line):\n        print('eh?', flush=True)\n        continue\n    print(",
    )
    played = evaluate(write_script(tmp_path, text), tmp_path / "out")
    assert not any(outcome.forfeit for outcome in played.outcomes)


def test_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_agents.py").write_text(
        "def lowest(message):\n    return min(message['legal'], key=int)\n"
        "def broken(message):\n    raise RuntimeError('no idea')\nnothing = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert not any(outcome.forfeit for outcome in evaluate("my_agents:lowest", tmp_path / "a").outcomes)
    with pytest.raises(ValueError, match=r"raised RuntimeError: no idea \(at my_agents\.py:4\); stopped"):
        evaluate("my_agents:broken", tmp_path / "b")
    with pytest.raises(ValueError, match="agent 'my_agents:nothing': is 3; needed: a function"):
        evaluate("my_agents:nothing", tmp_path / "c")


TELLING = """
def decide(message):
    with open("fields", "a") as file:
        print(*sorted(message), file=file)
    return min(message["legal"], key=int)
"""


def test_an_agent_gets_the_documented_fields_and_nothing_that_tells_its_games_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("telling.py").write_text(TELLING)
    evaluate("telling.py:decide", tmp_path / "out")
    documented = sorted(set(AgentMessage.__annotations__) - {"error"})
    assert set(Path("fields").read_text().splitlines()) == {" ".join(documented)}
    assert not {"game", "task", "seed", "salt", "key"} & set(documented)


SNOOPING = """
import gc, os, sys, threading
import numpy as np
from symphony9_env.rules.state import GAME

def find_games():
    return [one for one in gc.get_objects() if isinstance(one, np.ndarray) and one.dtype == GAME and one.shape != (2,)]

def decide(message):
    print("this goes to the log")
    frame, names = sys._getframe(), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    with open("found", "w") as file:
        print(os.getpid(), len(find_games()), "play_game" in names, sep="\\n", file=file)
    return min(message["legal"], key=int)
"""


def test_a_function_runs_in_a_process_without_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("snooping.py").write_text(SNOOPING)
    played = evaluate("snooping.py:decide", tmp_path / "out")
    assert played.results()["forfeits"] == 0
    assert played.results()["trusted"] is False
    pid, num_games, sees_the_stack = Path("found").read_text().split()
    assert int(pid) != os.getpid()
    assert (num_games, sees_the_stack) == ("0", "False")
    assert not [name for name, module in sys.modules.items() if "snooping" in str(getattr(module, "__file__", ""))]
    assert (tmp_path / "out" / "agent.log").read_text().startswith("this goes to the log\n")


def test_a_function_that_never_returns_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sleeper.py").write_text("import time\ndef decide(message):\n    time.sleep(1000)\n")
    monkeypatch.setattr(benchmark, "MAX_SILENT_GAMES", 1)
    with pytest.raises(ValueError, match=r"gave no answer within 0\.5 seconds"):
        evaluate("sleeper.py:decide", tmp_path / "out", timeout=0.5)


@pytest.mark.parametrize("changed", ["my_agent.py", "helper.py"])
def test_after_a_change_of_its_code_an_agent_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_agent.py").write_text("import helper\n\ndef decide(message):\n    return helper.lowest(message)\n")
    Path("helper.py").write_text("def lowest(message):\n    return min(message['legal'], key=int)\n")
    evaluate("my_agent.py:decide", tmp_path / "out")
    evaluate("my_agent.py:decide", tmp_path / "out")
    Path(changed).write_text(Path(changed).read_text() + "# changed\n")
    with pytest.raises(ValueError, match=r"holds another evaluation \(agent_fingerprint "):
        evaluate("my_agent.py:decide", tmp_path / "out")


def test_after_a_change_of_its_script_a_process_is_another_agent(tmp_path: Path) -> None:
    evaluate(write_script(tmp_path, LOWEST), tmp_path / "out")
    with pytest.raises(ValueError, match=r"holds another evaluation \(agent_fingerprint "):
        evaluate(write_script(tmp_path, LOWEST + "\n"), tmp_path / "out")


def test_the_row_says_what_was_not_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for agent, is_verified in (("http://127.0.0.1:9/", False), ("stdio:python3 -V", False), ("greedy", True)):
        folder = tmp_path / re.sub(r"\W", "-", agent)
        with Benchmark("2p", agent, folder, lite=True, timeout=1) as made:
            assert made.settings["agent_is_verified"] is is_verified
    with Benchmark("2p", "http://127.0.0.1:9/", tmp_path / "done", lite=True, timeout=1) as made:
        made.folder.items = evaluate("greedy", tmp_path / "other").outcomes
        made.run()
    assert "as far as its name tells; its code was not verified" in capsys.readouterr().err


def test_a_class_that_chooses_an_illegal_action_forfeits_its_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_cheat.py").write_text(
        "import numpy as np\nfrom symphony9_env.agents import Agent\n"
        "class Cheat(Agent):\n    def decide(self, positions, rows):\n        return np.full(len(rows), 39)\n"
    )
    monkeypatch.chdir(tmp_path)
    played = evaluate("my_cheat.py:Cheat", tmp_path / "a")
    assert played.results()["forfeits"] == len(played.outcomes) == 4
    assert played.results()["trusted"] is True  # it runs in this process, with the true states


def test_an_external_agent_sees_the_ledger_in_tasks_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ledger_agents.py").write_text(
        "def decide(message):\n"
        "    boards = message['view']['position']['boards'][: message['num_players']]\n"
        "    assert [board['money'] is None for board in boards].count(True) == MISSING\n"
        "    return message['view']['choices'][0]['action']\n"
    )
    monkeypatch.chdir(tmp_path)
    text = (tmp_path / "ledger_agents.py").read_text()
    for task, missing in (("2p", 1), ("2p-ledger", 0)):
        (tmp_path / "ledger_agents.py").write_text(text.replace("MISSING", str(missing)))
        with Benchmark(task, "ledger_agents.py:decide", tmp_path / task, lite=True, timeout=20) as made:
            made.play()
        assert made.results()["forfeits"] == 0
