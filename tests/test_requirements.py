"""What pyproject.toml requires: every extra is checked alone, and the lower bounds are the versions that are tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

from tools import check_extras, constraints

ROOT = Path(__file__).parents[1]


def test_every_extra_has_a_smoke_check() -> None:
    assert list(check_extras.SMOKE_CHECKS) == check_extras.list_extras()


def test_an_unknown_extra_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        check_extras.main(["minary"])
    assert "'minary'; allowed: bench, cluster, eval," in capsys.readouterr().err


def test_the_lower_bounds_are_versions_that_are_tested() -> None:
    """Those of constraints/lowest.txt, or where it has none, the versions with which the extra is checked."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = constraints.read_pins(ROOT / "constraints" / "lowest.txt")
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name != "dev"}
    for extra, needs in {"lowest": project["dependencies"], **extras}.items():
        pins = dict(line.split("==") for line in (*constraints.merge_pins(extra).splitlines(), *lowest.values()))
        for name, low in re.findall(r"^([\w-]+)(?:\[\w+\])?>=([\d.]+)", "\n".join(needs), flags=re.M):
            assert Version(pins[name]) == Version(low), f"{extra}: {name}"


def test_pins_of_an_environment_replace_the_common_ones() -> None:
    common = constraints.read_pins(ROOT / "constraints.txt")
    merged = constraints.merge_pins("lowest").splitlines()
    assert "numpy==1.26.0" in merged
    assert common["numpy"] not in merged
    assert common["pytest"] in merged
    assert constraints.merge_pins("no such environment").splitlines() == list(common.values())


def test_every_file_of_constraints_is_that_of_an_environment_and_says_why_it_is_apart() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for path in sorted((ROOT / "constraints").iterdir()):
        assert f"\nINSTALL_{path.stem} :=" in makefile
        assert path.read_text().startswith("# ")
        assert constraints.read_pins(path)


def test_the_tests_of_every_environment_exist() -> None:
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    chosen = re.findall(r"^TESTS_\w+ := (.*)$", makefile, flags=re.M)
    assert len(chosen) >= 6
    for path in re.findall(r"\btests/[\w/.]+", " ".join(chosen)):
        tests = ROOT / path
        assert tests.is_file() or list(tests.glob("**/test_*.py")), path
