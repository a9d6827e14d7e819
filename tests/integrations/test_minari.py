"""Minari: recorded games as datasets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symphony9_env import records, symphony9_v0
from symphony9_env.actions import number

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from symphony9_env.integrations.minari import episodes, export, main  # noqa: E402

GAMES = sorted((Path(__file__).parents[1] / "records").glob("*.json"))


@pytest.fixture(autouse=True)
def _datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def load(name: str) -> Any:
    return records.load(next(path for path in GAMES if path.stem == name))


@pytest.mark.parametrize("name", ["2p-0", "3p-1", "4p-2"])
def test_a_reloaded_dataset_is_the_game_seat_by_seat(name: str) -> None:
    record = load(name)
    export([record], "symphony9/test-v0")
    dataset = minari.load_dataset("symphony9/test-v0")
    assert dataset.total_episodes == record["num_players"]
    for seat, episode in enumerate(dataset.iterate_episodes()):
        agent = f"player_{seat}"
        own = [number(move) for who, move in record["actions"] if who == agent]
        assert episode.actions.tolist() == own
        assert len(episode.observations["observation"]) == len(own) + 1
        assert all(mask[action] for mask, action in zip(episode.observations["action_mask"], own, strict=False))
        assert episode.terminations.tolist() == [False] * (len(own) - 1) + [True]
        winners = record["result"]["winners"]
        share = 1 / len(winners) if agent in winners else -1 / (record["num_players"] - len(winners))
        assert episode.rewards.sum() == pytest.approx(share)
        assert not episode.rewards[:-1].any()


def test_observations_are_what_the_seat_saw() -> None:
    record = load("3p-0")
    episode = episodes(record)[0]
    env = symphony9_v0.raw_env(num_players=3)
    env.reset(options={"setup": record["setup"]})
    seen = []
    for agent, name in record["actions"]:
        if agent == "player_0":
            seen.append(env.observe(agent)["observation"])
        env.step(number(name))
    assert np.array_equal(episode.observations["observation"][:-1], np.stack(seen))


def test_rewards_between_two_decisions_are_added_up() -> None:
    record = load("4p-0")
    for seat, episode in enumerate(episodes(record, shaping=True, reward="score")):
        env = symphony9_v0.raw_env(num_players=4, shaping=True, reward="score")
        env.reset(options={"setup": record["setup"]})
        total, begun = 0.0, False
        for agent, name in record["actions"]:
            begun = begun or agent == f"player_{seat}"
            env.step(number(name))
            total += env.rewards[f"player_{seat}"] if begun else 0.0
        assert sum(episode.rewards) == pytest.approx(total)


def test_only_winners_or_chosen_seats() -> None:
    record = load("4p-1")
    winners = episodes(record, "winners")
    assert [episode.options["agent"] for episode in winners] == record["result"]["winners"]
    assert [episode.options["agent"] for episode in episodes(record, "2,0")] == ["player_2", "player_0"]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path) for path in GAMES if path.stem in ("4p-0", "4p-1")]
    assert main([*files, "--dataset", "symphony9/both-v0", "--ledger"]) == 0
    assert "symphony9/both-v0: 8 episodes" in capsys.readouterr().out
    assert main([*files, "--dataset", "symphony9/both-v0"]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "more", "reason"),
    [
        (["4p-0"], ["--seats", "7"], "4p-0.json: seats='7': no player_7; allowed: all, winners, or 0 to 3"),
        (["2p-0", "4p-0"], [], "4p-0.json has 4 players, discussion False"),
        (["4p-0"], ["--reward", "fame"], "reward='fame'"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_leaves_nothing(
    names: list[str], more: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(path) for path in GAMES if path.stem in names]
    assert main([*files, "--dataset", "symphony9/no-v0", *more]) == 2
    assert reason in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.hdf5"))


@pytest.mark.parametrize("seats", ["all", "winners"])
@pytest.mark.parametrize("damage", [{"actions": [["player_3", "pass"]]}, {"result": {}}, {"result": 1}])
def test_errors_name_the_file(
    seats: str, damage: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = next(path for path in GAMES if path.stem == "4p-0"), tmp_path / "wrong.json"
    wrong.write_text(json.dumps({**load("4p-0"), **damage}))
    assert main([str(right), str(wrong), "--dataset", "symphony9/no-v0", "--seats", seats]) == 2
    assert f"minari: {wrong}: record, a" in capsys.readouterr().err


def test_masks_have_a_type_that_torch_and_its_readers_know() -> None:
    for box in (False, True):
        made = export([load("3p-0")], f"symphony9/box-{box}-v0".lower(), box=box)
        episode = next(iter(made.iterate_episodes()))
        assert (episode.infos if box else episode.observations)["action_mask"].dtype == np.uint8
        if not box:
            assert made.observation_space["action_mask"].dtype == np.uint8


def test_box_has_the_same_data_as_plain_vectors_with_masks_in_the_infos(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(next(path for path in GAMES if path.stem == "3p-0"))
    for name, more in (("dict", []), ("box", ["--box"])):
        assert main([file, "--dataset", f"symphony9/{name}-v0", "--shaping", *more]) == 0
    boxes, dicts = (minari.load_dataset(f"symphony9/{name}-v0").iterate_episodes() for name in ("box", "dict"))
    for box, one in zip(boxes, dicts, strict=True):
        assert np.array_equal(box.observations, one.observations["observation"])
        assert np.array_equal(box.infos["action_mask"], one.observations["action_mask"])
        assert np.array_equal(box.actions, one.actions)
        assert np.array_equal(box.rewards, one.rewards)


RECOVER = """
import minari
dataset = minari.load_dataset("symphony9/box-v0")
env = dataset.recover_environment(opponents="greedy")
assert env.observation_space == dataset.observation_space
assert env.action_space == dataset.action_space
observation, info = env.reset(seed=1)
assert dataset.observation_space.contains(observation)
options = env.unwrapped.options
print(options.num_players, options.variant.discussion, options.reward, options.ledger)
"""


def test_a_box_dataset_recovers_its_environment_in_a_new_process() -> None:
    record = next(record for path in GAMES if (record := records.load(path)).get("discussion"))
    export([record], "symphony9/box-v0", box=True, reward="margin", ledger=True)
    done = subprocess.run([sys.executable, "-c", RECOVER], check=True, capture_output=True, text=True)
    assert done.stdout.split() == [str(record["num_players"]), "True", "margin", "True"]


def test_a_game_that_is_not_over_is_refused() -> None:
    record = {key: value for key, value in load("4p-0").items() if key != "result"}
    with pytest.raises(ValueError, match="not over"):
        episodes(record)
