"""A network link with latency and limited bandwidth, in user space: Linux kernels without netem have none.

    python -m speed.slow_link DEVICE DEVICE DELAY_SECONDS BITS_PER_SECOND

This creates two TUN devices and passes packets from each to the other: a packet is on its way for the time that its
bits take, after those of the packet before, and for the delay. It prints a line once the devices are there.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import sys
import time
from collections import deque
from typing import Final

TUNSETIFF: Final = 0x400454CA
IFF_TUN_WITHOUT_HEADER: Final = 0x0001 | 0x1000
MAX_PACKET: Final = 65_536
MAX_WAITING: Final = 4096  # packets in each direction; more are dropped, as a switch does


def open_device(name: str) -> int:
    """Create a TUN device, which exists until the descriptor returned is closed."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN_WITHOUT_HEADER))
    return descriptor


class Direction:
    """The packets on their way from one device to another."""

    def __init__(self, source: int, target: int, delay: float, rate: float) -> None:
        self.source, self.target, self.delay, self.rate = source, target, delay, rate
        self.waiting: deque[tuple[float, bytes]] = deque()
        self._free_at = 0.0  # when the link has sent the last packet

    def take(self) -> None:
        """Read the packets that the source has sent."""
        while len(self.waiting) < MAX_WAITING:
            try:
                packet = os.read(self.source, MAX_PACKET)
            except OSError:  # nothing more, or the device is not up yet
                return
            self._free_at = max(self._free_at, time.perf_counter()) + 8 * len(packet) / self.rate
            self.waiting.append((self._free_at + self.delay, packet))

    def deliver(self) -> float:
        """Write the packets that have arrived; return the seconds until the next one does."""
        while self.waiting:
            rest = self.waiting[0][0] - time.perf_counter()
            if rest > 0:
                return rest
            try:
                os.write(self.target, self.waiting.popleft()[1])
            except OSError:  # the device is down
                continue
        return 1.0


def connect(names: tuple[str, str], delay: float, rate: float) -> None:
    """Create the devices and pass packets until the process is killed."""
    one, other = (open_device(name) for name in names)
    directions = (Direction(one, other, delay, rate), Direction(other, one, delay, rate))
    print("ready", flush=True)
    while True:
        rest = min(direction.deliver() for direction in directions)
        readable, _, _ = select.select([one, other], [], [], rest)
        for direction in directions:
            if direction.source in readable:
                direction.take()


if __name__ == "__main__":
    connect((sys.argv[1], sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
