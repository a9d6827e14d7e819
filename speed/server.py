"""Measure the web server under load: players who move without thinking, and many who think between moves.

    python -m speed.server
    python -m speed.server --rounds 5 --players 50 --thinkers 300

A server (`symphony9 play`) runs as a process of its own, as does the baseline: a bare Starlette application that reads
a JSON body and returns a message of the same size. This process plays the people, each on one connection. The answer
to a move contains the moves of the three scripted agents that follow it, and is sent when all of them are on disk.
Rounds alternate between server and baseline; the ratio is the median over rounds.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from symphony9_env.arena.console import positive_int
from symphony9_env.arguments import Parser, run

PROG: Final = "python -m speed.server"
OPPONENTS: Final = ("planner", "investor", "greedy")
# Prints its address; answers every request with the message that it is given as its argument.
BASELINE: Final = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
import json
from symphony9_env.web.server import format_address, listen
message = json.loads(sys.stdin.readline())

async def answer(request):
    await request.json()
    return JSONResponse(message)

listener = listen("127.0.0.1", 0)
print(f"{format_address(listener)}/#none Ctrl-C", flush=True)
app = Starlette(routes=[Route("/api/seat/move", answer, methods=["POST"])])
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])
"""


@dataclass
class Sample:
    """The moves of one round: when each was answered and how long that took, in seconds."""

    times: list[tuple[float, float]] = field(default_factory=list)

    def rate(self) -> float:
        """Return the moves per second."""
        first, last = self.times[0][0], self.times[-1][0]
        return (len(self.times) - 1) / (last - first)

    def quantile(self, share: float) -> float:
        """Return how long this share of the answers took at most, in milliseconds."""
        waits = sorted(wait for _, wait in self.times)
        return 1000 * waits[min(len(waits) - 1, int(share * len(waits)))]


class Connection:
    """A connection to a server, for one request at a time."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; return the answer, or raise an error if it is not a success."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {self._token}\r\n"
            f"content-length: {len(content)}\r\n\r\n"
        )
        if self._streams is None or self._streams[0].at_eof():
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(head.encode() + content)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer)
        text = await reader.readexactly(int(length[1]) if length else 0)
        if not answer.startswith(b"HTTP/1.1 2"):
            raise ValueError(f"{path}: {answer.splitlines()[0].decode()} {text.decode()}")
        return json.loads(text)

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()


@contextmanager
def running(*command: str, text: str = "") -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """Run a server while the block lasts; yield its process, its port and the host's token."""
    process = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{text}\n")
        process.stdin.flush()
        output = ""
        while "Ctrl-C" not in output:
            line = process.stdout.readline()
            if not line:
                raise ValueError(f"the server did not start: {' '.join(command)[:100]}")
            output += line
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#(\S+)", output)
        assert found is not None
        yield process, int(found[1]), found[2]
    finally:
        process.terminate()
        process.communicate()


async def create_table(host: Connection, seed: int) -> str:
    """Set up a game of one person; return the token of that seat."""
    seats = [{"name": "Ann"}, *({"agent": agent} for agent in OPPONENTS)]
    table = await host.request("POST", "/api/tables", {"seats": seats, "seed": seed})
    return str(table["seats"][0]["link"].partition("#")[2])


async def play(port: int, token: str, think: Callable[[], Awaitable[None]], sample: Sample, rng: random.Random) -> None:
    """Play a game to its end with random moves."""
    with closing(Connection(port, token)) as connection:
        message = await connection.request("GET", "/api/seat")
        while message["view"]["position"]["decision"] != "over":
            if choices := message["view"]["choices"]:
                await think()
                move = {"turn": message["turn"], "action": rng.choice(choices)["action"]}
                message = await timed(connection, move, sample)
            else:  # agents are choosing
                message = await connection.request("GET", "/api/seat")


async def timed(connection: Connection, move: dict[str, int], sample: Sample) -> Any:
    """Make a move and record how long the answer took."""
    begun = time.perf_counter()
    message = await connection.request("POST", "/api/seat/move", move)
    now = time.perf_counter()
    sample.times.append((now, now - begun))
    return message


async def measure_players(port: int, host_token: str, players: int, games: int) -> Sample:
    """Let people play games one after the other, all at once and without thinking, until the first one is done."""
    host = Connection(port, host_token)
    tokens = [[await create_table(host, seed) for seed in range(games)] for _ in range(players)]
    host.close()
    sample = Sample()

    async def play_all(number: int) -> None:
        rng = random.Random(number)
        for token in tokens[number]:
            await play(port, token, lambda: asyncio.sleep(0), sample, rng)

    tasks = [asyncio.create_task(play_all(number)) for number in range(players)]
    done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for task in done:
        task.result()
    return sample


async def measure_thinkers(port: int, host_token: str, players: int, seconds: float, think: float) -> Sample:
    """Let people who think between moves play for some time."""
    host = Connection(port, host_token)
    tokens = [await create_table(host, seed) for seed in range(players)]
    host.close()
    sample = Sample()

    async def play_one(number: int) -> None:
        rng = random.Random(number)
        await asyncio.sleep(think * number / players)
        await play(port, tokens[number], lambda: asyncio.sleep(think), sample, rng)

    tasks = [asyncio.create_task(play_one(number)) for number in range(players)]
    done, waiting = await asyncio.wait(tasks, timeout=seconds)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for task in done:
        task.result()
    return sample


async def measure_baseline(port: int, players: int, requests: int) -> Sample:
    """Send as many requests at once to the bare application."""
    sample = Sample()

    async def ask() -> None:
        connection = Connection(port, "none")
        for number in range(requests):
            await timed(connection, {"turn": number, "action": 0}, sample)
        connection.close()

    await asyncio.gather(*(ask() for _ in range(players)))
    return sample


async def get_message(port: int, host_token: str) -> Any:
    """Return a message from the middle of a game, for the baseline."""
    host = Connection(port, host_token)
    token = await create_table(host, 0)
    seat = Connection(port, token)
    message = await seat.request("GET", "/api/seat")
    rng, sample = random.Random(0), Sample()
    while message["turn"] < 75:
        if choices := message["view"]["choices"]:
            move = {"turn": message["turn"], "action": rng.choice(choices)["action"]}
            message = await timed(seat, move, sample)
        else:
            message = await seat.request("GET", "/api/seat")
    host.close()
    seat.close()
    return message


def format_sample(name: str, sample: Sample) -> str:
    """Return a line with a sample's figures."""
    waits = f"median {sample.quantile(0.5):6.1f} ms  99 % {sample.quantile(0.99):6.1f} ms"
    return f"{name:34} {len(sample.times):6,} moves {sample.rate():7,.0f}/s  {waits}"


def main() -> None:
    """Run the command."""
    parser = Parser(PROG, __doc__)
    parser.add_argument("--rounds", type=positive_int, default=3, help="number of rounds (default: 3)")
    parser.add_argument("--players", type=positive_int, default=50, help="people who do not think (default: 50)")
    parser.add_argument("--games", type=positive_int, default=3, help="games of each of them (default: 3)")
    parser.add_argument("--thinkers", type=int, default=300, help="people who think; 0 for none (default: 300)")
    parser.add_argument("--think", type=float, default=5.0, help="seconds that they think (default: 5)")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long they play (default: 30)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        play_command = ["-m", "symphony9_env.cli", "play", "--no-browser", "--port", "0", "--games"]
        ratios = []
        for number in range(chosen.rounds):
            with running(*play_command, f"{folder}/{number}") as (_, port, token):
                message = asyncio.run(get_message(port, token))
                sample = asyncio.run(measure_players(port, token, chosen.players, chosen.games))
            with running("-c", BASELINE, text=json.dumps(message)) as (_, port, _):
                baseline = asyncio.run(measure_baseline(port, chosen.players, 100))
            ratios.append(sample.rate() / baseline.rate())
            print(format_sample(f"{chosen.players} players at once", sample), flush=True)
            print(format_sample("  bare Starlette application", baseline), flush=True)
        print(f"server / bare application: {statistics.median(ratios):.2f}")
        if chosen.thinkers:
            with running(*play_command, f"{folder}/thinkers") as (_, port, token):
                asyncio.run(get_message(port, token))
                sample = asyncio.run(measure_thinkers(port, token, chosen.thinkers, chosen.seconds, chosen.think))
            print(format_sample(f"{chosen.thinkers} players who think {chosen.think:g} s", sample))


if __name__ == "__main__":
    sys.exit(run(PROG, main))
