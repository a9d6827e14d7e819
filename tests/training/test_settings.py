"""Settings: what is wrong is refused, with the nearest right name."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.config import Settings, load_settings
from training.train import listed

CONFIGS = sorted((Path(__file__).parent.parent.parent / "configs").glob("*.yaml"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text("total_steps: 1000\nppo:\n  learning_rate: 0.001\n")
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_shipped_configs_are_valid(path: Path) -> None:
    assert load_settings(path).total_steps > 0


def test_the_command_line_changes_the_file(config: Path) -> None:
    changes = ["seed=3", "game.num_players=2", "network.hidden=[8,8,8]", "opponents.fixed.greedy=0.5"]
    settings = load_settings(config, changes)
    assert (settings.total_steps, settings.seed, settings.ppo.learning_rate) == (1000, 3, 0.001)
    assert (settings.game.num_players, settings.network.hidden) == (2, (8, 8, 8))
    assert settings.opponents.fixed == {"greedy": 0.5}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "ppo.learning_rat=1",
            r"unknown setting 'ppo.learning_rat'; did you mean 'learning_rate'\? allowed: num_games",
        ),
        ("totalsteps=5", r"unknown setting 'totalsteps'; did you mean 'total_steps'\?"),
        ("total_steps=0", "total_steps=0; "),
        ("total_steps=many", "total_steps='many'; "),
        ("game.num_players=5", "num_players=5; allowed: 2, 3, 4"),
        ("game=4", "game=4; "),
        ("ppo.batch_size=1000000", "ppo.batch_size=1000000; allowed: up to num_games × num_steps"),
        ("opponents.fixed.planer=1", "unknown agent 'planer'; did you mean 'planner'"),
        ("opponents={latest: 0, past: 0, fixed: {}}", "all weights are 0"),
        ("evaluation.opponents=[nobody]", "unknown agent 'nobody'"),
        ("network.hidden=[8]", "three sizes"),
        ("network.kind=cnn", "network.kind='cnn'; "),
        ("seed", "'seed'; needed: a setting as name=value"),
        ("seed.more=1", "seed={'more': 1}"),
        ("total_steps.more=1", "total_steps has no settings of its own"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(config: Path, change: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        load_settings(config, [change])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"), [("a: [", "is no YAML"), ("- 1", "needed: settings by name"), (None, "can't be read")]
)
def test_files_that_are_no_settings_are_refused(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "bad.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=said):
        load_settings(path)


def test_every_setting_is_listed_with_its_default() -> None:
    text = listed(Settings())
    for line in ("ppo.learning_rate=0.0003", "game.num_players=4", "opponents.same_kind=0.5"):
        assert line in text
