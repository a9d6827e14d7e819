"""Target: the settings of training, and overrides of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fuzz.agent_targets import sandbox
from fuzz.mutations import fill_folder, mutate_files, pack_files
from fuzz.target import Harness, Target, must_work
from training.config import Settings, load_settings

CONFIGS: Final = Path(__file__).parents[1] / "configs"


@contextmanager
def _open_settings(folder: Path) -> Iterator[Harness]:
    run = folder / "run"
    overrides = (b"ppo.learning_rate=0.001", b"game.tracks=random", b"opponents.fixed.mine=greedy=0.5")
    examples = [
        pack_files({"config.yaml": path.read_bytes(), "override.yaml": override})
        for path, override in zip(sorted(CONFIGS.glob("*.yaml")), overrides, strict=False)
    ]

    def read(data: bytes) -> None:
        fill_folder(run, data)
        override = run / "override.yaml"
        overrides = [override.read_bytes().decode("utf-8", "replace")] if override.exists() else []
        settings = load_settings(run / "config.yaml", overrides)
        with must_work():
            assert Settings.model_validate_json(settings.model_dump_json()) == settings

    with sandbox():
        yield Harness(examples, mutate_files, read)


TARGETS: Final = (Target("training-settings", _open_settings),)
