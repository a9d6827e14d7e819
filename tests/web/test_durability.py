"""What was acknowledged survives: power cuts, kills, a full disk, and damage to the journal."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import files, records
from symphony9_env.web import journal as journal_module
from symphony9_env.web.journal import Journal, list_files, read_entries
from symphony9_env.web.table_store import TableStore
from tests.power_cut import record_syncs
from tests.web.api import bearer, choices_of, create_table, get_seat, move, play_random_moves, run_server

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the simulated power cut reads /proc")


def list_moves(folder: Path, table: str = "0001") -> list[list[str]]:
    """Return the moves of a table that a server finds in a folder when it starts."""
    store = TableStore(folder)
    try:
        assert store.damaged == []
        return list(store.tables[table].record()["actions"])
    finally:
        store.close()


def play_first_legal(client: Any, token: str, num_moves: int) -> dict[str, Any]:
    """Make moves for a seat whose turn it is; return the last answer."""
    message = get_seat(client, token)
    for _ in range(num_moves):
        answer = move(client, token, choices_of(message)[0], message["turn"])
        assert answer.status_code == 200, answer.text
        message = answer.json()
    return message


@linux_only
def test_a_power_cut_loses_no_move_that_was_answered(tmp_path: Path) -> None:
    games = tmp_path / "games"
    games.mkdir()
    with record_syncs(games) as disk, run_server(games) as (client, store):
        tokens = create_table(client, store, None, "planner", None, seed=3)
        rng = np.random.default_rng(0)
        for number in range(25):
            token = next(one for one in tokens if choices_of(get_seat(client, one)))
            message = get_seat(client, token)
            message = move(client, token, int(rng.choice(choices_of(message))), message["turn"]).json()
            left = disk.restore(tmp_path / str(number))
            moves = list_moves(left)
            assert len(moves) >= message["turn"]
            assert moves == store.tables["0001"].record()["actions"][: len(moves)]


@linux_only
def test_a_power_cut_loses_no_table_name_or_link_that_was_answered(tmp_path: Path) -> None:
    games = tmp_path / "games"
    games.mkdir()
    with record_syncs(games) as disk, run_server(games) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=3)
        client.post("/api/seat/name", json={"name": "Zoe"}, headers=bearer(token))
        host = store.host_token
        left = disk.restore(tmp_path / "left")
    with run_server(left) as (client, store):
        assert store.host_token == host
        assert get_seat(client, token)["players"][0]["name"] == "Zoe"


def test_moves_survive_a_kill_and_records_are_complete_after_the_next_start(tmp_path: Path) -> None:
    with run_server(tmp_path / "games") as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        message = play_first_legal(client, token, 5)
        shutil.copytree(tmp_path / "games", tmp_path / "killed")
    assert len(records.load(tmp_path / "killed" / "0001.json")["actions"]) == 0
    with run_server(tmp_path / "killed") as (client, store):
        assert get_seat(client, token) == message | {"rules": get_seat(client, token)["rules"]}
        assert len(records.load(tmp_path / "killed" / "0001.json")["actions"]) == message["turn"]


def test_records_are_complete_and_the_journal_is_gone_after_a_stop(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        turn = play_first_legal(client, token, 5)["turn"]
        assert len(list_files(tmp_path)) == 1
        assert stat.S_IMODE(list_files(tmp_path)[0].stat().st_mode) == 0o600 or os.name == "nt"
    assert len(records.load(tmp_path / "0001.json")["actions"]) == turn
    assert list_files(tmp_path) == []


def test_the_record_of_a_game_is_complete_when_it_is_over(tmp_path: Path) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        play_random_moves(client, [token], np.random.default_rng(0))
        deadline = time.monotonic() + 20
        while "result" not in records.load(tmp_path / "0001.json") and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "result" in records.load(tmp_path / "0001.json")


def test_a_journal_that_has_grown_is_replaced_and_records_get_its_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MAX_FILE_SIZE", 500)
    with run_server(tmp_path / "games") as (client, store):
        tokens = [create_table(client, store, None, "planner", seed=seed)[0] for seed in (1, 2)]
        turns = [play_first_legal(client, token, 12)["turn"] for token in tokens]
        deadline = time.monotonic() + 20
        while len(list_files(tmp_path / "games")) > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        (path,) = list_files(tmp_path / "games")
        assert path.name > "journal.000001.jsonl"
        shutil.copytree(tmp_path / "games", tmp_path / "killed")
    assert [len(list_moves(tmp_path / "killed", table)) for table in ("0001", "0002")] == turns


@pytest.mark.parametrize("rest", [b'{"table": "0001", "tu', b"\0" * 100, b'\n\n{"table": 5}\n', b"\xff\xfe\n"])
def test_a_torn_line_at_the_end_of_the_journal_is_left_out(rest: bytes, tmp_path: Path) -> None:
    turn = make_killed_game(tmp_path)
    (path,) = list_files(tmp_path / "killed")
    with path.open("ab") as file:
        file.write(rest)
    assert len(list_moves(tmp_path / "killed")) == turn


def make_killed_game(folder: Path) -> int:
    """Leave the folder `killed` as a server that was killed leaves it; return the turn of its only game."""
    with run_server(folder / "games") as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        turn: int = play_first_legal(client, token, 5)["turn"]
        shutil.copytree(folder / "games", folder / "killed")
    return turn


def test_a_gap_in_the_journal_is_reported_and_the_journal_is_kept(tmp_path: Path) -> None:
    make_killed_game(tmp_path)
    (path,) = list_files(tmp_path / "killed")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"x" + lines[1], *lines[2:]]))
    for _ in range(2):  # it is reported at every start
        store = TableStore(tmp_path / "killed")
        store.close()
        assert store.damaged == ["0001.seats.json: the journal lacks turn 1; the record has the moves before it"]
    path.write_bytes(b"".join(lines))  # repaired
    assert len(list_moves(tmp_path / "killed")) == len(lines)
    assert list_files(tmp_path / "killed") == []


def test_a_new_table_does_not_get_the_moves_of_one_that_was_removed(tmp_path: Path) -> None:
    make_killed_game(tmp_path)
    for path in (tmp_path / "killed").glob("0001.*"):
        path.unlink()
    (tmp_path / "killed" / "0009.seats.json").write_text("{")  # something damaged, so that the journal is kept
    store = TableStore(tmp_path / "killed")
    assert store.create({"seats": [{}, {}]}).id != "0001"
    store.close()


def test_a_folder_of_an_earlier_version_opens(tmp_path: Path) -> None:
    """It has records and seats but no journal."""
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        before = play_first_legal(client, token, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "0001.json", "0001.seats.json", "host.json"]
    with run_server(tmp_path) as (client, _):
        assert get_seat(client, token)["log"] == before["log"]


# A full disk.


class FullDisk:
    """Lets writes below a folder fail while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        for name in ("append_text", "write_text"):
            monkeypatch.setattr(files, name, self._guard(getattr(files, name)))

    def _guard(self, write: Any) -> Any:
        def guarded(path: Path, text: str, **options: Any) -> None:
            if self.is_full:
                raise OSError(errno.ENOSPC, "No space left on device")
            write(path, text, **options)

        return guarded


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    monkeypatch.setattr(journal_module, "RETRY_DELAY", 0.05)
    monkeypatch.setattr("symphony9_env.web.saver.RETRY_DELAY", 0.05)
    return FullDisk(monkeypatch)


def test_a_move_that_cannot_be_saved_is_not_acknowledged_but_kept_and_saved_later(
    disk: FullDisk, tmp_path: Path
) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        (other,) = create_table(client, store, None, "planner", seed=2)
        message = get_seat(client, token)
        with client.websocket_connect("/api/seat/events") as page:
            page.send_text(token)
            assert page.receive_json()["turn"] == message["turn"]
            disk.is_full = True
            refused = move(client, token, choices_of(message)[0], message["turn"])
            assert refused.status_code == 507
            assert "No space left on device" in refused.json()["error"]
            turn = store.tables["0001"].turn
            again = move(client, token, choices_of(message)[0], message["turn"])
            assert again.status_code == 507
            assert store.tables["0001"].turn == turn  # nothing more is played
            assert client.get("/api/seat", headers=bearer(token)).status_code == 507  # and nothing unsaved is shown
            assert (
                client.post("/api/tables", json={"seats": [{}, {}]}, headers=bearer(store.host_token)).status_code
                == 507
            )
            renamed = client.post("/api/seat/name", json={"name": "Zoe"}, headers=bearer(other))
            assert renamed.status_code == 507
            assert store.tables["0002"].seats[0].name != "Zoe"
            disk.is_full = False
            message = page.receive_json()  # the server tries again by itself, and the agent has moved
            assert message["turn"] > turn or choices_of(message)
    assert len(records.load(tmp_path / "0001.json")["actions"]) >= message["turn"]


def test_a_table_that_could_not_be_closed_is_saved_as_soon_as_possible(disk: FullDisk, tmp_path: Path) -> None:
    """While it was being closed, files of the journal with its moves may have been removed."""
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        turn = play_first_legal(client, token, 3)["turn"]
        disk.is_full = True
        assert client.post("/api/tables/0001/close", json={}, headers=bearer(store.host_token)).status_code == 507
        disk.is_full = False
        deadline = time.monotonic() + 20
        while len(records.load(tmp_path / "0001.json")["actions"]) < turn:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert get_seat(client, token)["turn"] == turn


def test_a_name_that_cannot_be_saved_is_refused_without_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        monkeypatch.setattr(files, "write_text", refuse)
        answer = client.post("/api/seat/name", json={"name": "Zoe"}, headers=bearer(token))
    assert answer.json() == {"error": "the name could not be saved: Permission denied"}


def test_moves_that_wait_are_saved_at_shutdown(disk: FullDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "RETRY_DELAY", 600)
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        message = get_seat(client, token)
        disk.is_full = True
        assert move(client, token, choices_of(message)[0], message["turn"]).status_code == 507
        turn = store.tables["0001"].turn
        disk.is_full = False
    assert len(records.load(tmp_path / "0001.json")["actions"]) == turn > message["turn"]


def test_a_disk_that_is_full_at_shutdown_loses_nothing_that_was_acknowledged(
    disk: FullDisk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with run_server(tmp_path) as (client, store):
        (token,) = create_table(client, store, None, "planner", seed=1)
        message = play_first_legal(client, token, 4)
        disk.is_full = True
    assert "the next start takes their moves from the journal" in caplog.text
    disk.is_full = False
    assert len(list_moves(tmp_path)) == message["turn"]


def test_a_part_of_a_line_that_a_full_disk_left_does_not_spoil_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Appending may fail in the middle of a line, and shortening the file again may fail as well."""
    monkeypatch.setattr(journal_module, "RETRY_DELAY", 0.01)
    append, failures = files.append_text, [True]

    def fail_once(path: Path, text: str) -> None:
        if failures:
            failures.pop()
            append(path, text[: len(text) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        append(path, text)

    monkeypatch.setattr(files, "append_text", fail_once)

    async def write() -> bool:
        journal = Journal(tmp_path)
        number = journal.add("0001", 0, ["player_0", "pass"])
        assert not await journal.wait(number)
        while not journal.is_written(number):
            await asyncio.sleep(0.01)
        return await journal.close()

    assert asyncio.run(write())
    assert [entry for path in list_files(tmp_path) for entry in read_entries(path)] == [
        {"table": "0001", "turn": 0, "move": ["player_0", "pass"]}
    ]


def test_one_sync_writes_the_moves_of_many_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[int] = []
    append = files.append_text

    def count_lines(path: Path, text: str) -> None:
        groups.append(text.count("\n"))
        append(path, text)

    monkeypatch.setattr(files, "append_text", count_lines)

    async def write() -> None:
        journal = Journal(tmp_path)
        numbers = [journal.add(f"{table:04d}", 0, ["player_0", "pass"]) for table in range(50)]
        assert all(await asyncio.gather(*map(journal.wait, numbers)))
        await journal.close()

    asyncio.run(write())
    assert sum(groups) == 50
    assert len(groups) <= 2


# A real process, killed.

KILLED = """
import sys, uvicorn
from symphony9_env.cli import main
main(["play", "--no-browser", "--port", "0", "--games", sys.argv[1]])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_server_loses_no_move_that_was_answered(tmp_path: Path) -> None:
    import re

    import httpx2

    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = ""
    while "Ctrl-C" not in output:
        output += process.stdout.readline()
    address, host = re.findall(r"(http://\S+)/#(\S+)", output)[0]
    with httpx2.Client(base_url=address, timeout=60) as client:
        body = {"seats": [{}, {"agent": "planner"}, {"agent": "greedy"}], "seed": 1}
        table = client.post("/api/tables", json=body, headers=bearer(host)).json()
        token = table["seats"][0]["link"].partition("#")[2]
        message = client.get("/api/seat", headers=bearer(token)).json()
        for _ in range(10):
            body = {"turn": message["turn"], "action": choices_of(message)[0]}
            message = client.post("/api/seat/move", json=body, headers=bearer(token)).json()
        process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(list_moves(tmp_path)) >= message["turn"]
