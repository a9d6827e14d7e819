"""A seat's view as JSON: complete for whole games, and what the notes of choices promise."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from symphony9_env import records
from symphony9_env.components import MUSICIAN_INDEX
from symphony9_env.envs.aec import RawEnv
from symphony9_env.views import seat_view
from symphony9_env.views.seat_json import seat_json
from tests.scenarios import deal, finish

GAMES = sorted((Path(__file__).parent.parent / "records").glob("*.json"))


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.stem)
def test_every_position_and_choice_of_whole_games_is_described(path: Path) -> None:
    for env in records.replay(records.load(path)):
        view = seat_view(env.states, 0, env.deciding_seat)
        data = seat_json(view)
        assert json.loads(json.dumps(data))["position"]["round"] == view.round
        assert [choice["action"] for choice in data["choices"]] == list(view.legal)
        assert all(choice["label"] for choice in data["choices"])
        position = data["position"]
        assert [board["seat"] for board in position["boards"]] == list(range(len(view.boards)))
        for tile, musician in zip(data["game"]["scoring_tiles"], position["musicians"], strict=True):
            assert tile["musician"] == musician["name"]
            assert tile["counts"]
            covered = musician["ahead"][-1][0] if musician["ahead"] else 0
            assert covered == musician["cubes_left"]


def test_the_note_of_a_cube_says_what_taking_it_does_to_the_reputation() -> None:
    """Compare the note of a choice with the position after it, over whole games."""
    rng = np.random.default_rng(0)
    checked = 0
    for seed in range(20):
        env = RawEnv(num_players=4)
        env.reset(seed=seed)
        while not all(env.terminations.values()):
            view = seat_view(env.states, 0, env.deciding_seat)
            choice = rng.choice(np.array(seat_json(view)["choices"], dtype=object))
            before = {musician.name: musician.reputation for musician in view.musicians}
            env.step(choice["action"])
            if choice["kind"] == "take" and view.decision == "take" and view.pending == 2:
                musician = choice["musician"]
                after = int(env.states["reputation"][0][MUSICIAN_INDEX[musician]])
                found = re.search(r"reputation (\d+) → (\d+)", choice["note"])
                expected = (int(found[1]), int(found[2])) if found else (before[musician],) * 2
                assert (before[musician], after) == expected
                checked += found is not None
    assert checked > 20


def test_only_finished_games_have_a_score_sheet() -> None:
    env = deal(3)
    assert seat_json(seat_view(env.states, 0, 0))["position"]["score_sheet"] is None
    finish(env, np.random.default_rng(0))
    sheet = seat_json(seat_view(env.states, 0, 0))["position"]["score_sheet"]
    assert sheet is not None
    assert [line["total"] for line in sheet] == env.record()["result"]["scores"]
