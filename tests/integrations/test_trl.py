"""TRL: the game as tools of a model that GRPOTrainer trains."""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path

import pytest

from tests.integrations.scripted import GAME, choose, choose_last, play_directly

pytest.importorskip("trl")
pytest.importorskip("datasets")

from symphony9_env.integrations.trl import Symphony9ToolEnv, make_dataset


def play(env: Symphony9ToolEnv, seed: int) -> list[str]:
    """Play a whole game as TRL does: reset with a row of the data set, then call the tool."""
    texts = [env.reset(**make_dataset(1, first_seed=seed)[0])]
    while "Legal actions:" in texts[-1]:
        texts.append(env.play(action=choose(texts[-1])))
    return texts


def test_it_is_the_game_of_the_text_environment() -> None:
    env = Symphony9ToolEnv(**GAME)
    texts, reward, record = play_directly(seed=11)
    for _ in range(2):  # TRL uses environments again
        assert play(env, seed=11) == texts
        assert env.get_reward() == reward
        assert env.text_env.record() == record


def test_the_model_is_offered_one_tool_which_is_described() -> None:
    from transformers.utils import get_json_schema

    public = [name for name, _ in inspect.getmembers(Symphony9ToolEnv, inspect.isfunction) if name[0] != "_"]
    assert sorted(public) == ["get_reward", "play", "reset"]  # TRL calls the other two
    function = get_json_schema(Symphony9ToolEnv.play)["function"]
    assert function["name"] == "play"
    assert function["parameters"]["required"] == ["action"]
    assert function["parameters"]["properties"]["action"]["type"] == "string"


def test_wrong_answers_are_asked_again_and_then_end_the_game() -> None:
    env = Symphony9ToolEnv(**GAME, max_errors=1)
    env.reset(seed=7)
    assert "Your answer was not understood" in env.play("fly to the moon")
    assert env.get_reward() == -1.0  # unfinished
    assert env.play(["no", "text"]) == "The game is over: player_0 gave no legal action."  # type: ignore[arg-type]
    assert env.get_reward() == -1.0
    with pytest.raises(ValueError, match="The game is over"):
        env.play("0")


def test_an_unfinished_game_costs_what_the_user_says() -> None:
    env = Symphony9ToolEnv(**GAME, unfinished=-0.25)
    env.reset(seed=7)
    assert env.get_reward() == -0.25


def test_a_data_set_has_one_row_for_each_game() -> None:
    data = make_dataset(3, first_seed=10)
    assert data["seed"] == [10, 11, 12]
    assert data[0]["prompt"][0]["role"] == "user"


def test_options_are_checked() -> None:
    with pytest.raises(TypeError, match="did you mean 'opponents'"):
        Symphony9ToolEnv(oponents="greedy")


@pytest.mark.filterwarnings("ignore")  # of transformers and torch
def test_the_trainer_plays_games_with_a_scripted_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All completions of a prompt play the same game; each is the beginning of the game that is played directly."""
    from tests.integrations.tiny_model import make_trainer

    made: list[Symphony9ToolEnv] = []

    def factory() -> Symphony9ToolEnv:
        made.append(Symphony9ToolEnv(**GAME, shaping=True))
        return made[-1]

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    trainer = make_trainer(factory, make_dataset(1, first_seed=11), tmp_path, choose_last)
    trainer.train()
    _, _, record = play_directly(seed=11, script=choose_last, shaping=True)
    played = [env.text_env.record()["actions"] for env in made]
    assert len(played) == 2
    assert all(actions == record["actions"][: len(actions)] for actions in played)
    assert len(played[0]) > 2
    assert trainer.state.log_history[0]["rewards/Symphony9ToolEnv/mean"] == pytest.approx(made[0].get_reward())


def test_the_example_plays() -> None:
    main = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "trl_game.py"))["main"]
    (reward,) = main(["--games", "1"])
    assert reward in (-1.0, 0.0, 1.0)
