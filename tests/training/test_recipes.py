"""The configurations that come with the project, run briefly."""

from __future__ import annotations

from pathlib import Path

import pytest

from symphony9_env import agents
from training import train
from training.checkpoints import read_checkpoint
from training.config import load_settings

CONFIGS = Path(__file__).parent.parent.parent / "configs"
POLICIES = CONFIGS.parent / "symphony9_env" / "agents" / "policies"
SHORT = (
    "total_steps=512",
    "ppo.n_envs=8",
    "ppo.n_steps=32",
    "ppo.batch_size=64",
    "behaviour_cloning.games=8",
    "opponents.snapshot_every=256",
    "evaluation.games=4",
)


@pytest.mark.parametrize("path", sorted(CONFIGS.rglob("*.yaml")), ids=lambda path: path.stem)
def test_every_configuration_trains_a_policy_that_plays(path: Path, tmp_path: Path) -> None:
    settings = load_settings(path)
    alone = [] if settings.workers else ["workers=1"]
    train.main(["--config", str(path), "--out", str(tmp_path / "run"), *SHORT, *alone])
    assert len(read_checkpoint(tmp_path / "run" / "checkpoint.pt").state["workers"]) == (settings.workers or 1)
    card, _ = agents.load_policy(tmp_path / "run" / "last.safetensors")
    assert card.num_players == (settings.game.num_players,)
    assert card.hidden == settings.network.hidden
    assert card.temperature == settings.temperature


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_there_is_a_recipe_for_every_shipped_policy(num_players: int) -> None:
    settings = load_settings(CONFIGS / "shipped" / f"{num_players}p.yaml")
    assert settings.game.num_players == num_players
    assert settings.start_from is None
    files = [name for name in settings.opponents.fixed if "/" in name]
    assert all((CONFIGS.parent / name).is_file() for name in files), "needs a file that is not in the repository"


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_every_shipped_policy_was_trained_with_all_settings_of_its_recipe(num_players: int) -> None:
    """Also with the defaults that the recipe does not name: whoever changes one must write it into the recipes."""
    settings = load_settings(CONFIGS / "shipped" / f"{num_players}p.yaml")
    training = agents.load_policy(POLICIES / f"{num_players}p.safetensors")[0].training
    assert training["settings"] == settings.model_dump(mode="json")
    assert training["steps"] >= settings.total_steps
