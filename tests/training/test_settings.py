"""Settings: derived options, overrides, and error messages with the nearest known name."""

from __future__ import annotations

import os
import re
import sys
import tracemalloc
from pathlib import Path

import pytest

from symphony9_env.components import PLAYER_COUNT_RULES
from symphony9_env.options import OPTION_FIELDS, make_options
from training.config import GameSettings, PpoSettings, Settings, list_settings, load_settings

CONFIGS = sorted((Path(__file__).parent.parent.parent / "configs").glob("*.yaml"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text("total_steps: 1000\nppo:\n  learning_rate: 0.001\n")
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_shipped_configs_are_valid(path: Path) -> None:
    assert load_settings(path).total_steps > 0


def test_the_command_line_overrides_the_file(config: Path) -> None:
    overrides = ["seed=3", "game.num_players=2", "network.hidden=[8,8,8]", "opponents.fixed.greedy=0.5"]
    settings = load_settings(config, overrides)
    assert (settings.total_steps, settings.seed, settings.ppo.learning_rate) == (1000, 3, 0.001)
    assert (settings.game.num_players, settings.network.hidden) == (2, (8, 8, 8))
    assert settings.opponents.fixed == {"greedy": 0.5}


def test_an_empty_section_has_its_defaults_and_can_be_overridden(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("ppo:\ngame:\nopponents:\n  fixed:\n")
    settings = load_settings(path, ["ppo.n_steps=32", "opponents.fixed.greedy=1"])
    assert (settings.ppo, settings.game) == (PpoSettings(n_steps=32), GameSettings())
    assert settings.opponents.fixed == {"greedy": 1}


@pytest.mark.parametrize("agent", ["agent.py:decide", "./agent.py:decide", "mine=agent.py:decide"])
def test_the_key_of_an_override_may_contain_dots_and_equals_signs(
    config: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (config.parent / "agent.py").write_text("def decide(message):\n    return min(message['legal'], key=int)\n")
    monkeypatch.chdir(config.parent)
    assert load_settings(config, [f"opponents.fixed.{agent}=0.2"]).opponents.fixed == {agent: 0.2}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "ppo.learning_rat=1",
            r"unknown setting 'ppo.learning_rat'; did you mean 'learning_rate'\? allowed: n_envs",
        ),
        ("totalsteps=5", r"unknown setting 'totalsteps'; did you mean 'total_steps'\?"),
        ("total_steps=0", "total_steps=0; "),
        ("total_steps=many", "total_steps='many'; "),
        ("game.num_players=5", "game: num_players=5; allowed: 2, 3, 4"),
        ("game=4", "game=4; "),
        ("ppo.batch_size=1000000", "ppo.batch_size=1000000; allowed: up to n_envs \\* n_steps"),
        ("opponents.fixed.planer=1", "unknown agent 'planer'; did you mean 'planner'"),
        ("opponents={latest: 0, past: 0, fixed: {}}", "all weights are 0"),
        ("opponents.fixed={planner: .nan}", "opponents.fixed.planner=nan; Input should be a finite number"),
        ("opponents.fixed.planner=.inf", "opponents.fixed.planner=inf; Input should be a finite number"),
        ("opponents.fixed.planner=-1", "opponents.fixed.planner=-1; Input should be greater than or equal to 0"),
        ("opponents.latest=.inf", "opponents.latest=inf; Input should be a finite number"),
        ("save_every=.inf", "save_every=inf; Input should be a finite number"),
        ("=1", "'=1'; expected a setting as name=value"),
        ("evaluation.opponents=[nobody]", "unknown agent 'nobody'"),
        ("network.hidden=[8]", "three sizes"),
        ("network.kind=cnn", "network.kind='cnn'; "),
        ("opponents.coalition=true", "opponents.coalition: allowed if latest and past are 0"),
        ("game.ledgr=true", r"unknown setting 'game.ledgr'; did you mean 'ledger'\? allowed: num_players"),
        ("game.reward=score", "unknown setting 'game.reward'"),
        ("game.tracks=new", "game: tracks='new'; allowed: 'historical', 'random'"),
        ("seed", "'seed'; expected a setting as name=value"),
        ("seed.more=1", "seed={'more': 1}"),
        ("total_steps.more=1", "total_steps is not a section of settings"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(config: Path, override: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected) as error:
        load_settings(config, [override])
    assert "\n" not in str(error.value)


def test_a_critic_that_knows_the_state_needs_the_ledger(config: Path) -> None:
    with pytest.raises(ValueError, match=r"network\.critic=state: allowed with game\.ledger=true"):
        load_settings(config, ["network.critic=state", "game.ledger=false"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a: [", "not valid YAML"), ("- 1", "expected a mapping of settings"), (None, "cannot be read")],
)
def test_files_without_settings_are_refused(tmp_path: Path, text: str | None, expected: str) -> None:
    path = tmp_path / "bad.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=expected):
        load_settings(path)


HOSTILE = {
    "aliases": "a: &a [1]\nb: &b [*a, *a]\n",
    "merged mappings": "a: &a {k: 1}\nb: &b {<<: [*a, *a]}\n",
    "an alias of itself": "&a [*a]",
    "deep lists": "[" * 16_000,
    "deep mappings": "{a: " * 4000,
    "deep blocks": "".join("- " for _ in range(8000)),
    "digits": "seed: " + "9" * 16_000,
    "hexadecimal digits": "seed: 0x" + "f" * 16_000,
    "sexagesimal digits": "seed: 1" + ":1" * 8000,
    "no date": "seed: 2020-13-45",
    "a long name": "x" * 1000 + ": 1",
    "a long value": "seed: " + "x" * 16_000,
    "a long list": "seed: [" + "1," * 2000 + "]",
    "a tag": "!!python/object/apply:os.system [x]",
    "too large": "#" * 16_385,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_settings_are_refused_in_one_short_line_and_with_little_memory(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=re.escape(f"--config {path}: ")) as error:
            load_settings(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**26
    assert len(str(error.value)) < 1000
    assert "\n" not in str(error.value)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_settings_from_a_pipe_or_device_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    for path in tmp_path.iterdir():
        with pytest.raises(ValueError, match=r"cannot be read \(not a regular file\)"):
            load_settings(path)


def test_game_settings_are_the_options_of_the_environment() -> None:
    defaults = {option.name: option.default for option in OPTION_FIELDS if option.name not in ("reward", "shaping")}
    assert GameSettings().as_json() == {**defaults, "ledger": True}
    assert GameSettings(num_players=3).options() == make_options(num_players=3, ledger=True)
    by_hand = {name: f"{number}A" for number, name in enumerate(PLAYER_COUNT_RULES[2].musicians, 1)}
    assert GameSettings(num_players=2, scoring=by_hand).options().variant.scoring == by_hand


def test_settings_survive_json() -> None:
    settings = Settings(game=GameSettings(num_players=2, discussion=True, components="mine.toml"))
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


def test_every_setting_is_listed_with_its_default_and_a_description() -> None:
    lines = [line for line in list_settings().splitlines() if line.startswith("  ")]
    for line in lines:
        setting, _, description = line.strip().partition("   ")
        assert description, setting
        load_settings(CONFIGS[0], [setting])
    settings = [line.split()[0] for line in lines]
    for expected in ("ppo.learning_rate=0.0008", "game.num_players=4", "opponents.same_kind=0.5", "start_from=null"):
        assert expected in settings
