"""The leaderboard of this repository: its submissions are correct and its page is current."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

import pytest

from symphony9_env.arena.submissions import SAMPLE, Submission, check_name, read_submission, read_submissions
from tools import leaderboard
from tools.leaderboard import BOARD, PAGE, escape, format_board, main, regenerate

NAMES = sorted(path.name for path in BOARD.iterdir() if not path.name.startswith("."))


@pytest.fixture(scope="module")
def submissions() -> list[Submission]:
    return read_submissions(BOARD)


@pytest.mark.parametrize("name", NAMES)
def test_a_submission_is_correct(name: str) -> None:
    seed = secrets.randbits(32)  # so that nobody knows before which games are played again
    submission = read_submission(BOARD / name)
    try:
        submission.replay(submission.draw_sample(SAMPLE, seed))
    except ValueError as error:
        pytest.fail(f"{error}; to repeat: python -m tools.leaderboard check --seed {seed} {name}")


def test_the_page_is_current(submissions: list[Submission]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert regenerate(text, submissions) == text, "run `python -m tools.leaderboard write`"


def test_rows_are_sorted_by_score_within_a_task(submissions: list[Submission]) -> None:
    table = format_board(submissions)
    assert table == format_board(submissions[::-1])
    places = [table.index(f"/{name})") for name in ("2p-policy", "2p-planner", "2p-random", "4p-policy", "4p-random")]
    assert places == sorted(places)


def test_texts_of_a_submission_can_not_change_the_page() -> None:
    plain = read_submission(BOARD / "4p-greedy")
    nasty = "a|b](javascript:x) <script>`*_&#60;![x](y) www.evil.example http://evil.example \\| ~~"
    results = {**plain.evaluation.results, "agent": nasty}
    about = replace(plain.about, author=nasty, description=nasty)
    forged = replace(plain, about=about, evaluation=replace(plain.evaluation, results=results))
    row, nasty_row = (format_board([one]).splitlines()[-1] for one in (plain, forged))
    assert nasty_row.count("|") == row.count("|")
    assert nasty_row.count("](") == row.count("](")
    for markup in ("<", ">", "`*", "www.", "http:", "\\", "!["):
        assert markup not in nasty_row


def test_letters_of_all_languages_are_kept() -> None:
    assert escape("José Nováková, 山田-2") == "José Nováková, 山田-2"


def test_checks_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--sample", "2", "--seed", "5", "2p-random"])
    assert capsys.readouterr().out == "2p-random: correct; 2 games were played again (seed 5)\n"


@pytest.mark.parametrize("name", ["../leaderboard/2p-random", "/etc", ".."])
def test_a_check_does_not_leave_the_folder(name: str) -> None:
    with pytest.raises(ValueError, match="the name of a submission is"):
        main(["check", name])


def test_added_runs_appear_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board, page = tmp_path / "board", tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    for name, value in (("BOARD", board), ("PAGE", page), ("ROOT", tmp_path)):
        monkeypatch.setattr(leaderboard, name, value)
    words = ["--author", "Ann", "--kind", "scripted", "--description", "mine", "--date", "2026-07-31"]
    main(["add", str(BOARD / "2p-random"), *words, "--link", "https://example.org/x"])
    text = page.read_text(encoding="utf-8")
    assert "[random](../leaderboard/2p-random): mine | scripted |" in text
    assert "| [Ann](https://example.org/x) | 2026-07-31 |" in text
    assert "greedy](../leaderboard" not in text
    with pytest.raises(ValueError, match="--name x: is for one folder, not 2"):
        main(["add", "a", "b", *words, "--name", "x"])


def test_names_of_submissions_are_names_of_folders() -> None:
    assert NAMES
    for name in NAMES:
        check_name(name)
