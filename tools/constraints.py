"""Print the pinned versions of one of the test environments, for pip.

    python -m tools.constraints agilerl

The pins of `constraints/NAME.txt`, if there is such a file, replace those of `constraints.txt`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent


def read_pins(path: Path) -> dict[str, str]:
    """Return the lines of a file of constraints by the name of the package."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {line.partition("==")[0]: line for line in lines if "==" in line and not line.startswith("#")}


def merge_pins(name: str) -> str:
    """Return the constraints of an environment or of an extra."""
    return "\n".join((read_pins(ROOT / "constraints.txt") | read_pins(ROOT / "constraints" / f"{name}.txt")).values())


if __name__ == "__main__":
    print(merge_pins(sys.argv[1]))
