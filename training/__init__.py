"""Training of policies by self-play: `python -m training.train`."""

import os
import signal
import sys
from types import FrameType


def _stop_before_the_training(number: int, _frame: FrameType | None) -> None:
    os.write(2, b"\nstopped before the training began\n")
    os._exit(128 + number)


# While `python -m training.…` imports this package and the libraries it needs, which takes some seconds, Ctrl-C ends it
# in one line; `training.stopping.StopSignals` takes over when the run begins. Signals are not for workers other than 0.
if sys.argv[0] == "-m" and sys.orig_argv[-1] == "training.workers":
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
elif sys.argv[0] == "-m" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _stop_before_the_training)
