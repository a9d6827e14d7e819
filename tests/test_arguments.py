"""Running commands: Ctrl-C, and packages that are missing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from symphony9_env.arguments import INTERRUPTED, run
from symphony9_env.cli import main

posix = pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")


def test_ctrl_c_ends_a_command_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it
    assert run("example", lambda: signal.raise_signal(signal.SIGINT)) == INTERRUPTED
    assert capsys.readouterr().err == ""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


CALLBACK = """
import ctypes, signal, sys, time
from symphony9_env.arguments import run

# A callback of compiled code, in which Python prints and ignores exceptions.
source = "def callback():\\n    signal.raise_signal(signal.SIGINT)\\n    sum(range(1000))\\n"
names = {"signal": signal}
exec(compile(source, "/somewhere/llvmlite/binding/executionengine.py", "exec"), names)
callback = ctypes.CFUNCTYPE(None)(names["callback"])

def main():
    callback()
    print("after the callback", flush=True)
    for _ in range(600):
        time.sleep(0.1)

sys.exit(run("example", main))
"""


def test_ctrl_c_in_a_callback_of_the_compiler_ends_the_command_after_it() -> None:
    done = subprocess.run([sys.executable, "-c", CALLBACK], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "after the callback\n", "")


SAY_WHEN_IT_PLAYS = """
import sys, time
from symphony9_env import cli
clock = time.perf_counter
time.perf_counter = lambda: print("playing", flush=True) or clock()
sys.exit(cli.main())
"""


@posix
@pytest.mark.parametrize("command", ["bench", "watch"])
def test_ctrl_c_in_a_running_command(command: str, tmp_path: Path) -> None:
    game = str(tmp_path / "game.json")
    assert main(["record", "--out", game]) == 0
    arguments = {"bench": ["--seconds", "50"], "watch": [game, "--no-browser", "--port", "0", "--search", "0"]}
    given = [sys.executable, "-c", SAY_WHEN_IT_PLAYS, command, *arguments[command]]
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()  # that it plays, or the link
        process.send_signal(signal.SIGINT)
        assert process.wait(50) in (0, INTERRUPTED)  # the server ends in its own way
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("module", ["tournament", "benchmark", "exploit", "coalition"])
def test_without_the_extra_a_module_says_what_to_install(module: str) -> None:
    code = (
        f"import runpy, sys; sys.modules['tqdm'] = None; sys.argv = ['-m']; "
        f"runpy.run_module('evaluation.{module}', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'evaluation: tqdm is not installed; pip install "symphony9-env[eval]"\n'
