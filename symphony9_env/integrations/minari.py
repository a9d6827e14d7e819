"""Minari: recorded games as a dataset for offline learning, an episode for each seat of each game.

    python -m evaluation.tournament --agents planner,search:100 --games 400 --records 400 --out runs/games
    python -m symphony9_env.integrations.minari runs/games/records/*.json --dataset symphony9/search-v0
    minari.load_dataset("symphony9/search-v0")

An episode has what the seat saw at each of its decisions (observation and mask), what it chose, and what that brought
until its next decision: the reward of the game's end comes with its last action. `--seats winners` keeps who won.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Unpack

import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from minari.storage import get_dataset_path

from symphony9_env import records
from symphony9_env.actions import number
from symphony9_env.envs.aec import RawEnv
from symphony9_env.options import OptionValues
from symphony9_env.records import replay

ALL: Final = "all"
WINNERS: Final = "winners"
DATA_FORMAT: Final = "hdf5"


def episodes(record: Mapping[str, Any], seats: str = ALL, **options: Unpack[OptionValues]) -> list[EpisodeBuffer]:
    """What each of the seats (`all`, `winners`, or numbers with commas) lived through in a finished game."""
    if "result" not in record:
        raise ValueError("the record has no result: the game is not over")
    chosen = _chosen(record, seats)
    seen: dict[str, list[Any]] = {agent: [] for agent in chosen}
    actions: dict[str, list[int]] = {agent: [] for agent in chosen}
    rewards: dict[str, list[float]] = {agent: [] for agent in chosen}
    moves = iter(record["actions"])
    for env in replay(record, **options):
        for agent in chosen:
            if rewards[agent]:
                rewards[agent][-1] += env.rewards[agent]
        name = next(moves, None)
        if name is not None and env.agent_selection in seen:
            agent = env.agent_selection
            seen[agent].append(env.observe(agent))
            actions[agent].append(number(name[1]))
            rewards[agent].append(0.0)
    for agent in chosen:
        seen[agent].append(env.observe(agent))
    return [_episode(record, agent, seen[agent], actions[agent], rewards[agent]) for agent in chosen]


def _chosen(record: Mapping[str, Any], seats: str) -> list[str]:
    agents = [f"player_{seat}" for seat in range(record["num_players"])]
    if seats == ALL:
        return agents
    if seats == WINNERS:
        return list(record["result"]["winners"])
    chosen = [f"player_{seat.strip()}" for seat in seats.split(",")]
    if wrong := [agent for agent in chosen if agent not in agents]:
        raise ValueError(
            f"seats={seats!r}: no {wrong[0]}; allowed: all, winners, or 0 to {len(agents) - 1} with commas"
        )
    return chosen


def _episode(
    record: Mapping[str, Any], agent: str, seen: list[Any], actions: list[int], rewards: list[float]
) -> EpisodeBuffer:
    last = len(actions) - 1
    return EpisodeBuffer(
        seed=record.get("seed"),
        options={"agent": agent, "setup": json.dumps(record["setup"])},
        observations={name: np.stack([one[name] for one in seen]) for name in seen[0]},
        actions=np.array(actions, np.int64),
        rewards=rewards,
        terminations=[step == last for step in range(len(actions))],
        truncations=[False] * len(actions),
        infos={},
    )


def export(
    games: Iterable[Mapping[str, Any]],
    dataset: str,
    *,
    seats: str = ALL,
    **options: Unpack[OptionValues],
) -> minari.MinariDataset:
    """Write a Minari dataset of these games; the options of the environment say what is observed and rewarded."""
    found = list(games)
    if not found:
        raise ValueError("no records; needed: at least one")
    kinds = {(record["num_players"], record.get("discussion", False)) for record in found}
    if len(kinds) > 1:
        raise ValueError(
            "records of different kinds; one dataset has one number of players, with discussion or without"
        )
    num_players, discussion = kinds.pop()
    env = RawEnv(**{**options, "num_players": num_players, "discussion": discussion})
    buffer = [episode for record in found for episode in episodes(record, seats, **options)]
    if dataset in minari.list_local_datasets():
        raise ValueError(f"dataset {dataset!r} is there already; choose another name or delete it first")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of who made it, and of an environment: the games have none
            return minari.create_dataset_from_buffers(
                dataset,
                buffer,
                observation_space=env.observation_space("player_0"),
                action_space=env.action_space("player_0"),
                algorithm_name="recorded games",
                description=f"Symphony No. 9 with {num_players} players, {len(found)} games, seats: {seats}",
                data_format=DATA_FORMAT,
                requirements=["symphony9-env"],
            )
    except BaseException:
        shutil.rmtree(get_dataset_path(dataset), ignore_errors=True)  # no half of a dataset is left behind
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m symphony9_env.integrations.minari",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="RECORD", help="game records")
    parser.add_argument("--dataset", required=True, help="its name in Minari, such as symphony9/search-v0")
    parser.add_argument("--seats", default=ALL, help="all, winners, or seat numbers with commas (default: all)")
    parser.add_argument("--ledger", action="store_true", help="with the ledger in the observations")
    parser.add_argument("--reward", default="win", help="win, margin or score (default: win)")
    chosen = parser.parse_args(arguments)
    try:
        made = export(
            [records.load(file) for file in chosen.files],
            chosen.dataset,
            seats=chosen.seats,
            ledger=chosen.ledger,
            reward=chosen.reward,
        )
    except (ValueError, OSError) as error:
        print(f"minari: {error}", file=sys.stderr)
        return 2
    print(f"{made.id}: {made.total_episodes} episodes, {made.total_steps} decisions, in {made.storage.data_path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
