"""`symphony9 play` and `symphony9 watch` as processes: links, ports, Ctrl-C."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from symphony9_env import symphony9_v0
from symphony9_env.cli import main
from symphony9_env.web.server import format_address, is_loopback, listen
from tests.web.api import bearer


@contextmanager
def run_command(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a command while the block lasts; yield the process and what it printed at first."""
    process = subprocess.Popen(
        [sys.executable, "-m", "symphony9_env.cli", *arguments, "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    output = ""
    while "Ctrl-C" not in output:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        output += line
    try:
        yield process, output
    finally:
        process.kill()
        process.communicate()


def test_play_prints_its_link_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    with run_command("play", "--games", str(tmp_path / "games")) as (process, output):
        found = re.search(r"(http://127\.0\.0\.1:\d+)/#(\S+)", output)
        assert found is not None
        assert str(tmp_path / "games") in output
        assert "not encrypted" not in output
        assert "<title>" in httpx2.get(found[1], timeout=60).text
        answer = httpx2.post(f"{found[1]}/api/tables", json={"seats": [{}, {}]}, headers=bearer(found[2]), timeout=60)
        assert answer.status_code == 201
        assert main(["play", "--no-browser", "--games", str(tmp_path / "games")]) == 2  # the folder is in use
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    with run_command("play", "--games", str(tmp_path / "games")) as (_, output):
        assert f"/#{found[2]}" in output  # the same link
        assert "1 of 1 not over" in output


def test_ctrl_c_does_not_wait_for_an_agent_that_is_choosing(tmp_path: Path) -> None:
    env = symphony9_v0.raw_env(num_players=2)
    for seed in range(100):
        env.reset(seed=seed)
        if env.deciding_seat == 1:  # the agent's
            break
    with run_command("play", "--games", str(tmp_path), "--max-playouts", "1000000") as (process, output):
        address, token = re.findall(r"(http://\S+)/#(\S+)", output)[0]
        body = {"seats": [{}, {"agent": "search:1000000"}], "seed": seed}  # about a minute of search
        answer = httpx2.post(f"{address}/api/tables", json=body, headers=bearer(token), timeout=60)
        assert answer.status_code == 201
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_watch_serves_its_page(tmp_path: Path) -> None:
    game = str(tmp_path / "game.json")
    main(["record", "--num-players", "2", "--out", game])
    with run_command("watch", game, "--search", "0") as (_, output):
        found = re.search(r"http://127\.0\.0\.1:\d+/", output)
        assert found is not None
        answer = httpx2.get(found[0], timeout=60)
        assert "game.json" in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_address_of_a_server_on_all_interfaces_is_reachable_from_others() -> None:
    with listen("127.0.0.1", 0) as listener:
        assert is_loopback(listener)
    with listen("0.0.0.0", 0) as listener:
        assert not is_loopback(listener)
        assert re.fullmatch(rf"http://[\d.]+:{listener.getsockname()[1]}", format_address(listener))
        assert "0.0.0.0" not in format_address(listener)


def test_a_taken_port_is_an_error_unless_it_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"--port {port}: can't listen there"):
            listen("127.0.0.1", port)
        monkeypatch.setattr("symphony9_env.web.server.DEFAULT_PORT", port)
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
def test_bad_input_is_reported_in_one_line(
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


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        ([], True),
        (["--no-allow-external-agents"], False),
        (["--host", "0.0.0.0"], False),
        (["--host", "0.0.0.0", "--allow-external-agents"], True),
    ],
)
def test_external_agents_are_allowed_on_loopback_or_by_option(
    arguments: list[str], allowed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apps: list[Any] = []

    def serve(app: Any, listener: socket.socket, page: str | None, max_per_address: int) -> None:
        listener.close()
        apps.append(app)

    monkeypatch.setattr("symphony9_env.web.server.serve", serve)
    monkeypatch.setattr("symphony9_env.web.commands._warm_up", lambda: None)
    assert main(["play", "--no-browser", "--port", "0", "--games", str(tmp_path), *arguments]) == 0
    store = apps[0].app.state.manager.store
    store.close()
    assert store.permissions.external_agents is allowed


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["play", "--no-browser"]) == 2
    assert "uvicorn is not installed; pip install 'symphony9-env[play]'" in capsys.readouterr().err


def test_the_command_line_does_not_import_the_server() -> None:
    code = "import sys, symphony9_env.cli; print({'starlette', 'uvicorn', 'playwright', 'PIL'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
