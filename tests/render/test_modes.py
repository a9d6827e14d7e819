"""Render modes of the environments: pictures, windows, notebooks, and what happens without them."""

from __future__ import annotations

import builtins
import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from symphony9_env import symphony9_v0
from symphony9_env.envs.aec import RawEnv
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.render import render_modes
from symphony9_env.render.window import Window

pygame = pytest.importorskip("pygame")


@pytest.fixture
def dummy_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A screen that nobody sees, and no waiting between pictures."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(RawEnv.metadata, "render_fps", 1000)
    yield
    pygame.display.quit()


@pytest.fixture
def nothing_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a fresh process."""
    monkeypatch.setattr(render_modes, "_reported", set())


def without(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """As if this library was not installed."""
    found = builtins.__import__

    def find(name: str, *args: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ImportError(f"No module named {library!r}")
        return found(name, *args)

    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", find)


def dealt(render_mode: str | None, **options: Any) -> RawEnv:
    env = RawEnv(render_mode=render_mode, **options)
    env.reset(seed=0)
    return env


def step(env: RawEnv) -> None:
    env.step(int(np.flatnonzero(env.action_mask)[0]))


def test_importing_the_package_imports_no_picture_library() -> None:
    code = (
        "import sys, symphony9_env.symphony9_v0 as v0, symphony9_env.envs.single\n"
        "env = v0.env(render_mode='ansi'); env.reset(seed=1); env._repr_html_()\n"
        "assert not {'PIL', 'pygame'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Pixels.


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_rgb_array_is_the_deciding_seat_s_picture(num_players: int) -> None:
    env = dealt("rgb_array", num_players=num_players)
    first = env.render()
    assert isinstance(first, np.ndarray)
    assert first.shape == (800, 1200, 3)
    assert first.dtype == np.uint8
    assert np.array_equal(first, np.asarray(dealt("rgb_array", num_players=num_players).render()))
    step(env)
    assert not np.array_equal(first, np.asarray(env.render()))


def test_the_parallel_environment_renders_too() -> None:
    env = symphony9_v0.parallel_env(num_players=3, render_mode="rgb_array")
    env.reset(seed=0)
    assert np.array_equal(env.render(), np.asarray(dealt("rgb_array", num_players=3).render()))
    assert "rgb_array" in env.metadata["render_modes"]


def test_without_pillow_the_first_picture_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "PIL")
    env = dealt("rgb_array")  # made without complaint: some libraries ask for this mode and never render
    with pytest.raises(ImportError, match=r'pip install "symphony9-env\[render\]"'):
        env.render()


# People.


def test_human_opens_a_window_that_shows_each_step(dummy_screen: None, capsys: pytest.CaptureFixture[str]) -> None:
    env = dealt("human")
    screen = pygame.display.get_surface()
    assert screen.get_size() == (1200, 800)
    before = pygame.surfarray.array3d(screen)
    assert np.array_equal(before.swapaxes(0, 1), np.asarray(dealt("rgb_array").render()))
    step(env)
    assert not np.array_equal(before, pygame.surfarray.array3d(pygame.display.get_surface()))
    assert env.render() is None
    env.close()
    assert not pygame.display.get_init()
    assert capsys.readouterr() == ("", "")


def test_a_closed_window_stays_closed_and_the_game_goes_on(
    dummy_screen: None, capsys: pytest.CaptureFixture[str]
) -> None:
    env = dealt("human")
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    for _ in range(3):
        step(env)
        assert not pygame.display.get_init()
    env.close()
    env.close()
    assert capsys.readouterr() == ("", "")


def test_a_window_may_change_its_size(dummy_screen: None) -> None:
    env = dealt("human")
    pygame.display.set_mode((300, 500), pygame.RESIZABLE)
    pygame.event.post(pygame.event.Event(pygame.VIDEORESIZE, size=(300, 500), w=300, h=500))
    step(env)
    assert pygame.display.get_surface().get_size() == (300, 500)
    env.close()


def test_two_environments_share_the_window(dummy_screen: None) -> None:
    one, other = dealt("human"), dealt("human", num_players=2)
    one.close()
    step(other)
    assert pygame.display.get_init()
    step(one)
    other.close()
    step(one)
    assert pygame.display.get_init()
    one.close()


def test_pictures_keep_their_time(monkeypatch: pytest.MonkeyPatch, dummy_screen: None) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    window = Window("test", 10)
    picture = np.zeros((8, 12, 3), np.uint8)
    window.show(picture)
    assert not waited
    window.show(picture)
    assert waited
    window.close()


def test_copies_have_no_window(dummy_screen: None) -> None:
    env = dealt("human")
    single = SingleSeatEnv(num_players=2, render_mode="human")
    single.reset(seed=1)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.render_mode == "human"
        assert twin._renderer._window is None
        assert twin.record() == env.record()
        twin.close()
        assert pygame.display.get_init()  # the original's is still open
    assert copy.deepcopy(single)._renderer._window is None
    assert env.resample(0, np.random.default_rng(0)).render_mode is None
    single.close()
    env.close()


def test_without_a_display_text_is_printed_and_one_note_says_why(
    no_display: None, nothing_reported: None, capsys: pytest.CaptureFixture[str]
) -> None:
    for env in (dealt("human"), dealt("human", num_players=2)):
        step(env)
        step(env)
        env.close()
    out, err = capsys.readouterr()
    assert out.count("Symphony No. 9, ") == 6
    assert err == "symphony9_env: printing text instead of opening a window: there is no display\n"


@pytest.mark.parametrize(("library", "name"), [("PIL", "Pillow"), ("pygame", "pygame")])
def test_without_the_libraries_text_is_printed_and_one_note_says_what_to_install(
    library: str,
    name: str,
    dummy_screen: None,
    nothing_reported: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with monkeypatch.context() as patch:
        without(patch, library)
        env = dealt("human")
        step(env)
    out, err = capsys.readouterr()
    assert out.count("Symphony No. 9, ") == 2
    assert err.count("\n") == 1
    assert name in err
    assert 'pip install "symphony9-env[render]"' in err


# Notebooks.


def test_a_notebook_shows_the_deciding_seat_s_table() -> None:
    for env in (symphony9_v0.env(num_players=3), symphony9_v0.raw_env(num_players=3)):
        assert "call reset()" in env._repr_html_()
        env.reset(seed=0)
        root = ET.fromstring(env._repr_html_())
        assert root.tag == "div"
        assert f"as {env.agent_selection} sees it" in env._repr_html_()


def test_a_notebook_shows_the_parallel_and_the_single_seat_environment_too() -> None:
    parallel = symphony9_v0.parallel_env(num_players=2)
    single = SingleSeatEnv(num_players=2, seat=1)
    for env in (parallel, single):
        assert "call reset()" in env._repr_html_()
    parallel.reset(seed=0)
    single.reset(seed=0)
    assert f"as {parallel.aec_env.agent_selection} sees it" in parallel._repr_html_()
    assert "as player_1 sees it" in single._repr_html_()
