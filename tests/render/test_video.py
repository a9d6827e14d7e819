"""Gymnasium's RecordVideo records games."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordVideo

moviepy = pytest.importorskip("moviepy")
pytest.importorskip("PIL")

DECISIONS = 10


def test_record_video_records_what_is_rendered(tmp_path: Path) -> None:
    folder = tmp_path / "videos"
    made = gymnasium.make("symphony9_env:Symphony9-v0", num_players=2, render_mode="rgb_array")
    env: Any = RecordVideo(made, os.fspath(folder))
    _, info = env.reset(seed=0)
    size = env.render().shape
    for _ in range(DECISIONS):
        *_, info = env.step(np.flatnonzero(info["action_mask"])[0])
    env.close()
    (file,) = folder.glob("*.mp4")
    with moviepy.VideoFileClip(os.fspath(file)) as video:
        assert (video.h, video.w) == size[:2]
        assert video.n_frames == DECISIONS + 1
        assert not np.array_equal(video.get_frame(0), video.get_frame(video.duration - 0.1))
