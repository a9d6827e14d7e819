"""`symphony9 play` and `watch` as processes: links, ports, Ctrl-C."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from symphony9_env import symphony9_v0
from symphony9_env.cli import main
from symphony9_env.web.serve import address_of, is_loopback, listen
from tests.web.service import bearer


@contextmanager
def command(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running command and what it printed at first."""
    process = subprocess.Popen(
        [sys.executable, "-m", "symphony9_env.cli", *arguments, "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = ""
    while "Ctrl-C" not in said:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        said += line
    try:
        yield process, said
    finally:
        process.kill()
        process.communicate()


def test_play_says_where_it_is_and_stops_by_ctrl_c(tmp_path: Path) -> None:
    with command("play", "--games", str(tmp_path / "games")) as (process, said):
        found = re.search(r"(http://127\.0\.0\.1:\d+)/#(\S+)", said)
        assert found is not None
        assert str(tmp_path / "games") in said
        assert "not encrypted" not in said
        assert "<title>" in httpx2.get(found[1], timeout=60).text
        answer = httpx2.post(f"{found[1]}/api/tables", json={"seats": [{}, {}]}, headers=bearer(found[2]), timeout=60)
        assert answer.status_code == 201
        assert main(["play", "--no-browser", "--games", str(tmp_path / "games")]) == 2  # one server for a folder
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    with command("play", "--games", str(tmp_path / "games")) as (_, said):
        assert f"/#{found[2]}" in said  # the same link
        assert "1 of 1 not over" in said


def test_ctrl_c_does_not_wait_for_an_agent_that_thinks(tmp_path: Path) -> None:
    env = symphony9_v0.raw_env(num_players=2)
    for seed in range(100):
        env.reset(seed=seed)
        if env.deciding_seat == 1:  # the agent's
            break
    with command("play", "--games", str(tmp_path)) as (process, said):
        address, token = re.findall(r"(http://\S+)/#(\S+)", said)[0]
        wish = {"seats": [{}, {"agent": "search:1000000"}], "seed": seed}  # a minute of thought
        answer = httpx2.post(f"{address}/api/tables", json=wish, headers=bearer(token), timeout=60)
        assert answer.status_code == 201
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_watch_serves_its_page(tmp_path: Path) -> None:
    game = str(tmp_path / "game.json")
    main(["record", "--num-players", "2", "--out", game])
    with command("watch", game, "--search", "0") as (_, said):
        found = re.search(r"http://127\.0\.0\.1:\d+/", said)
        assert found is not None
        answer = httpx2.get(found[0], timeout=60)
        assert "game.json" in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_it_listens_on_this_machine_alone_unless_told_otherwise() -> None:
    with listen("127.0.0.1", 0) as bound:
        assert is_loopback(bound)
    with listen("0.0.0.0", 0) as bound:
        assert not is_loopback(bound)
        assert re.fullmatch(rf"http://[\d.]+:{bound.getsockname()[1]}", address_of(bound))
        assert "0.0.0.0" not in address_of(bound)


def test_a_port_that_is_taken_is_told_and_the_usual_one_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"--port {port}: can't listen there"):
            listen("127.0.0.1", port)
        monkeypatch.setattr("symphony9_env.web.serve.DEFAULT_PORT", port)
        with listen("127.0.0.1", None) as other:
            assert other.getsockname()[1] != port


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "70000"], "--port 70000; allowed: 0"),
        (["--host", "no such host"], "--host no such host"),
        (["--games", "FILE"], "FILE: can't be written to"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").touch()
    assert main(["play", "--no-browser", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_without_the_extra_it_is_said_which_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["play", "--no-browser"]) == 2
    assert "uvicorn is not installed; pip install 'symphony9-env[play]'" in capsys.readouterr().err


def test_the_core_does_not_load_the_server() -> None:
    code = "import sys, symphony9_env.cli; print({'starlette', 'uvicorn', 'playwright', 'PIL'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
