"""Cut the power of a running web server, or kill it, and check that no move that was answered is lost.

    python -m tests.web.server_faults --kills 40
    sudo python -m tests.web.server_faults --power-cuts 100     # Linux, as root: mounts a file system in a file

People play against scripted agents without pause. At random moments the server is killed and started again; or the file
that contains its file system is copied, with what has reached the disk and nothing else, and a server is started on the
copy. Every table must then have all moves that were answered before.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final

from speed.server import Connection, create_table, running
from symphony9_env.arguments import Parser, run
from symphony9_env.web.table_store import TableStore
from tools.disk_images import copy_image, make_image, mount, repair

PROG: Final = "python -m tests.web.server_faults"
COMMAND: Final = ("-m", "symphony9_env.cli", "play", "--no-browser", "--port", "0", "--games")
NUM_PLAYERS: Final = 5
CUTS_PER_SERVER: Final = 10  # then a new server begins with an empty folder
Process = subprocess.Popen[str]
Answered = dict[str, int]  # by table: the number of moves in the last answer


async def play_games(port: int, host: str, answered: Answered, rng: random.Random) -> None:
    """Play random moves, one game after the other, and note what was answered."""
    with closing(Connection(port, host)) as host_connection:
        while True:
            token = await create_table(host_connection, rng.randrange(1000))
            with closing(Connection(port, token)) as connection:
                await play_game(connection, answered, rng)


async def play_game(connection: Connection, answered: Answered, rng: random.Random) -> None:
    """Play a game to its end with random moves, and note what was answered."""
    message = await connection.request("GET", "/api/seat")
    answered[message["table"]] = message["turn"]
    while message["view"]["position"]["decision"] != "over":
        choices: list[dict[str, Any]] = message["view"]["choices"]
        if choices:
            move = {"turn": message["turn"], "action": rng.choice(choices)["action"]}
            message = await connection.request("POST", "/api/seat/move", move)
        else:  # agents are choosing
            message = await connection.request("GET", "/api/seat")
        answered[message["table"]] = message["turn"]


@asynccontextmanager
async def playing(port: int, host: str, answered: Answered, rng: random.Random) -> AsyncIterator[None]:
    """Let people play while the block lasts."""
    seeds = [rng.random() for _ in range(NUM_PLAYERS)]
    players = [asyncio.create_task(play_games(port, host, answered, random.Random(seed))) for seed in seeds]
    try:
        while not any(answered.values()):  # a new server takes a moment to load compiled code
            await asyncio.sleep(0.01)
        yield
    finally:
        for player in players:
            player.cancel()
        for error in await asyncio.gather(*players, return_exceptions=True):
            if isinstance(error, ValueError):  # any other means that the server is gone
                raise error


def check(folder: Path, answered: Answered) -> int:
    """Open a folder as a server would; return the number of answered moves, or raise an error if one is lost."""
    store = TableStore(folder)
    try:
        if store.damaged:
            raise ValueError(f"damaged: {store.damaged}")
        for table, num_moves in answered.items():
            if store.tables[table].turn < num_moves:
                raise ValueError(f"table {table}: {num_moves} moves were answered, {store.tables[table].turn} are left")
        return sum(answered.values())
    finally:
        store.close()


def kill_servers(folder: Path, kills: int, rng: random.Random) -> None:
    """Kill servers at random moments in the middle of games."""

    async def play_and_kill(process: Process, port: int, host: str, answered: Answered) -> None:
        async with playing(port, host, answered, rng):
            await asyncio.sleep(rng.uniform(0.2, 2))
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.wait)

    num_moves = 0
    for number in range(kills):
        games, answered = folder / str(number), Answered()
        with running(*COMMAND, str(games)) as (process, port, host):
            asyncio.run(play_and_kill(process, port, host, answered))
        num_moves += check(games, answered)
        shutil.rmtree(games)
        print(f"{number + 1} kills: {num_moves} moves looked for, none lost", flush=True)


def cut_power(folder: Path, cuts: int, rng: random.Random) -> None:
    """Copy the disk of running servers at random moments and check the copies."""
    image, copy = folder / "disk", folder / "copy"
    make_image(image, "64M")

    async def copy_disk(process: Process, answered: Answered) -> int:
        await asyncio.sleep(rng.uniform(0.05, 0.5))
        process.send_signal(signal.SIGSTOP)  # while the file is being copied
        before = dict(answered)
        try:
            await asyncio.to_thread(copy_image, image, copy)
        finally:
            process.send_signal(signal.SIGCONT)

        def check_copy() -> int:
            if not repair(copy):
                raise ValueError("e2fsck found damage")
            with mount(copy, folder / "restored"):
                return check(folder / "restored" / "games", before)

        return await asyncio.to_thread(check_copy)

    async def play_and_copy(process: Process, port: int, host: str, num_cuts: int) -> int:
        answered = Answered()
        async with playing(port, host, answered, rng):
            return sum([await copy_disk(process, answered) for _ in range(num_cuts)])

    num_moves = 0
    with mount(image, folder / "mounted"):
        games = folder / "mounted" / "games"
        for first in range(0, cuts, CUTS_PER_SERVER):
            with running(*COMMAND, str(games)) as (process, port, host):
                num_cuts = min(CUTS_PER_SERVER, cuts - first)
                num_moves += asyncio.run(play_and_copy(process, port, host, num_cuts))
            shutil.rmtree(games)
            print(f"{first + num_cuts} power cuts: {num_moves} moves looked for, none lost", flush=True)


def main() -> None:
    """Run the command."""
    parser = Parser(PROG, __doc__)
    parser.add_argument("--kills", type=int, default=0, help="how often to kill a server (default: 0)")
    parser.add_argument("--power-cuts", type=int, default=0, help="how often to cut the power (default: 0)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: 0)")
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        kill_servers(Path(folder), chosen.kills, rng)
        if chosen.power_cuts:
            cut_power(Path(folder), chosen.power_cuts, rng)


if __name__ == "__main__":
    sys.exit(run(PROG, main))
