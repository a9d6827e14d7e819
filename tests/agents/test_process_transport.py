"""Processes that do not behave: a question ends at its deadline, and nothing is left after the end."""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from symphony9_env.agents import process_transport
from symphony9_env.agents.process_transport import FunctionProcess, ProcessTransport
from symphony9_env.agents.transports import NoAnswer, NotStarted
from tests.agents.test_external import LOWEST, is_running, wait_for_end
from tests.agents.test_http_transport import make_question

LATE = 15.0  # seconds; far below what the processes here would take

is_posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no sessions on Windows")
is_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@contextmanager
def start(tmp_path: Path, text: str, timeout: float = 60) -> Iterator[ProcessTransport]:
    """Yield a process that runs a program; check that nothing waits long for it and no thread is left."""
    script = tmp_path / "agent.py"
    script.write_text(text)
    begun = time.monotonic()
    transport = ProcessTransport([sys.executable, str(script)], timeout, tmp_path / "agent.log")
    yield transport
    transport.close()
    assert time.monotonic() - begun < LATE
    assert not [thread for thread in threading.enumerate() if thread.name == "agent process"]


def expect_failure(tmp_path: Path, text: str, reason: str, timeout: float = 60) -> None:
    with start(tmp_path, text, timeout) as transport, pytest.raises(NoAnswer, match=reason):
        transport.ask(make_question())


SILENT = {
    "never reads": "import time\ntime.sleep(1000)",
    "sends bytes without the end of a line": (
        "import sys, time\nwhile True:\n    sys.stdout.write('1')\n    sys.stdout.flush()\n    time.sleep(0.01)"
    ),
    "ignores signals": (
        "import signal, time\nfor number in (1, 2, 15):\n    signal.signal(number, signal.SIG_IGN)\ntime.sleep(1000)"
    ),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_a_question_ends_at_its_deadline(tmp_path: Path, text: str) -> None:
    expect_failure(tmp_path, text, r"^gave no answer within 0\.7 seconds$", timeout=0.7)


def test_a_process_that_does_not_read_a_long_message(tmp_path: Path) -> None:
    """The message is longer than what a pipe holds, so that writing it has to wait."""
    with start(tmp_path, SILENT["never reads"], 0.7) as transport, pytest.raises(NoAnswer, match="gave no answer"):
        transport.ask({**make_question(), "text": "x" * 3_000_000})


def test_a_process_that_writes_without_end(tmp_path: Path) -> None:
    text = "import sys\nwhile True: sys.stdout.write('1' * 100000)"
    expect_failure(tmp_path, text, "^wrote more than 1,048,576 bytes without the end of a line$")


def test_a_process_that_answers_without_end(tmp_path: Path) -> None:
    with start(tmp_path, "while True: print(0)") as transport:
        assert [transport.ask(make_question()) for _ in range(3)] == ["0"] * 3


def test_a_process_that_closes_its_output_but_runs_on(tmp_path: Path) -> None:
    expect_failure(tmp_path, "import os, time\nos.close(1)\ntime.sleep(1000)", "^closed its standard output$")


LEAVES_ITS_PIPES = (
    "import os, subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'], start_new_session={})\n"
    "open(os.path.join(os.path.dirname(__file__), 'child'), 'w').write(str(child.pid))\n"
)


@is_posix
@pytest.mark.parametrize("has_own_session", [False, True])
def test_a_process_that_dies_and_leaves_its_pipes_to_another(tmp_path: Path, has_own_session: bool) -> None:
    text = LEAVES_ITS_PIPES.format(has_own_session) + "os._exit(3)"
    expect_failure(tmp_path, text, r"^died \(exit status 3\)$")
    with suppress(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


@is_linux
def test_descendants_end_with_the_process_even_in_sessions_of_their_own(tmp_path: Path) -> None:
    with start(tmp_path, LEAVES_ITS_PIPES.format(True) + LOWEST) as transport:
        transport.ask(make_question())
        child = int((tmp_path / "child").read_text())
        assert is_running(child)
    wait_for_end(child)


@is_linux
def test_many_generations_of_descendants_end_with_the_process(tmp_path: Path) -> None:
    text = f"""import os, time
read, write = os.pipe()
for generation in range(40):
    if os.fork():
        break
    os.setsid()
else:
    open({str(tmp_path / "youngest")!r}, "w").write(str(os.getpid()))
    os.write(write, b"x")
if generation:
    time.sleep(1000)
os.read(read, 1)
"""
    with start(tmp_path, text + LOWEST) as transport:
        transport.ask(make_question())
        youngest = int((tmp_path / "youngest").read_text())
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(len(inspect.stack()) + 30)  # in place of a thousand generations
        try:
            transport.close()
        finally:
            sys.setrecursionlimit(limit)
    wait_for_end(youngest)


def test_what_the_process_of_a_function_says_becomes_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function can write in the name of its host."""
    transport, text = FunctionProcess("module:function", 1.0), "\x1b[2J\n" + "x" * 9999
    monkeypatch.setattr(ProcessTransport, "ask", lambda self, message: json.dumps({"failure": text}))
    monkeypatch.setattr(transport, "_start", lambda: transport.__dict__.update(_description={"error": text}))
    for raised, say in ((NoAnswer, lambda: transport.ask(make_question())), (ValueError, transport.describe)):
        with pytest.raises(raised) as caught:
            say()
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) <= process_transport.MAX_ERROR_LENGTH


@is_posix
def test_a_log_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("mine")
    (tmp_path / "agent.log").symlink_to(tmp_path / "other")
    with start(tmp_path, "import sys\nprint('hello', file=sys.stderr)\n" + LOWEST) as transport:
        transport.ask(make_question())
    assert (tmp_path / "other").read_text() == "mine"


@is_linux
def test_nothing_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with start(tmp_path, LEAVES_ITS_PIPES.format(True) + LOWEST) as transport:
        transport.ask(make_question())
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_log_has_a_limit_and_the_process_does_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_transport, "MAX_LOG_BYTES", 10_000)
    text = "import sys\nfor number in range(60000): print(number, file=sys.stderr)\n" + LOWEST
    for _ in range(2):  # the limit counts for the file, not for one process
        with start(tmp_path, text) as transport:
            assert transport.ask(make_question()) == '{"action": 0}'
    log = (tmp_path / "agent.log").read_text()
    assert log.startswith("0\n1\n2\n")
    assert log.endswith("[This log has reached its limit; the rest is dropped.]\n")
    assert 10_000 <= len(log) < 10_100


def test_a_log_that_can_not_be_written_does_not_stop_the_process(tmp_path: Path) -> None:
    (tmp_path / "agent.log").mkdir()
    with start(tmp_path, "import sys\nprint('x' * 1000000, file=sys.stderr)\n" + LOWEST) as transport:
        assert transport.ask(make_question()) == '{"action": 0}'


def test_the_reason_of_a_death_is_the_last_line_of_standard_error(tmp_path: Path) -> None:
    expect_failure(tmp_path, "import no_such_module", r"^died \(exit status 1\): ModuleNotFoundError: .*no_such_module")


@is_posix
def test_a_program_that_can_not_be_started(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_bytes(b"\x00\x01 no program")
    program.chmod(0o755)
    with pytest.raises(NotStarted, match=r"^can't be started \(.*Exec format error"):
        ProcessTransport(str(program), 5, tmp_path / "agent.log").ask(make_question())


def test_a_command_is_identified_by_the_files_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text("one")
    Path("weights.bin").write_text("one")
    command = f'"{sys.executable}" agent.py --weights=weights.bin'
    seen = set()
    for file in ("agent.py", "weights.bin"):
        seen.add(ProcessTransport(command, 5).fingerprint())
        Path(file).write_text("two")
    seen.add(ProcessTransport(command, 5).fingerprint())
    assert len(seen) == 3
    assert seen == seen | {ProcessTransport(command, 5).fingerprint()}
    assert ProcessTransport("python3 --version", 5).fingerprint() == ""
