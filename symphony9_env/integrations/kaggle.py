"""kaggle-environments: importing this module registers the OpenSpiel game with two, three and four players.

    import kaggle_environments
    import symphony9_env.integrations.kaggle
    env = kaggle_environments.make("open_spiel_python_symphony9_2p")
    env.run([my_agent, "planner"])

An agent is a function of an observation that returns `{"submission": ACTION}`. The observation is that of Kaggle's
OpenSpiel environments without the serialized state, which would give everything away. It has the legal actions, and
`informationState`: all that the seat has seen, as text. In the first step, before the deal, Kaggle shows every agent an
observation that has none of this, and ignores the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyspiel
from kaggle_environments import core
from kaggle_environments.envs.open_spiel_env import open_spiel_env

from symphony9_env import agents
from symphony9_env.agents.strategies import STRATEGIES
from symphony9_env.components import PLAYER_COUNTS
from symphony9_env.integrations.openspiel import NAME, PARAMETERS
from symphony9_env.integrations.openspiel_observer import rebuild_game

INFORMATION: Final = "informationState"
MAX_SEED: Final = 2**31 - 1  # parameters of OpenSpiel's games have 32 bits
NO_ACTION: Final = {"submission": -1}  # the answer to the empty observation of the first step

KaggleAgent = Callable[[Any], dict[str, int]]


def environment_name(num_players: int) -> str:
    """Return the name by which `kaggle_environments.make` knows the game with this many players."""
    return f"open_spiel_{NAME}" + ("" if num_players == PARAMETERS["players"] else f"_{num_players}p")


def make_agent(name: Any, seed: int = 0) -> KaggleAgent:
    """Return an agent of this package, as `agents.make` takes it, as an agent for Kaggle's environment."""
    agent = agents.make(name, seed=seed)

    def act(observation: Any) -> dict[str, int]:
        if INFORMATION not in observation:
            return NO_ACTION
        return {"submission": agent.choose(rebuild_game(observation[INFORMATION]))}

    return act


def configure_seed(seed: int, num_players: int, **parameters: Any) -> dict[str, Any]:
    """Return a configuration that deals the game of a seed as the other environments do, for comparisons.

    Kaggle shows the configuration to every agent, and with it the tokens and bot tiles to come.
    """
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed={seed}; allowed for OpenSpiel's games: 0 to {MAX_SEED}")
    game = pyspiel.load_game(NAME, {**parameters, "players": num_players, "seed": seed})
    return {"seed": seed, "openSpielGameParameters": parameters, "initialActions": game.find_outcomes(seed)}


def _interpret(state: list[Any], env: Any, logs: list[Any]) -> list[Any]:
    """Play a step as Kaggle does, and add what each seat has seen to its observation."""
    after: list[Any] = open_spiel_env.interpreter(state, env, logs)
    for seat, one in enumerate(after):
        if "observationString" in one.observation:  # it is not before Kaggle deals, in the first step
            setattr(one.observation, INFORMATION, env.os_state.information_state_string(seat))
    return after


def _register(num_players: int) -> None:
    built = open_spiel_env._build_env(f"{NAME}(players={num_players})")
    specification = built["specification"]
    specification["name"] = environment_name(num_players)
    specification["title"] = f"Symphony No. 9 with {num_players} players"
    specification["configuration"]["includeLegalActions"]["default"] = True  # there is no state to find them in
    specification["observation"]["properties"][INFORMATION] = {
        "description": "All that the seat has seen of the game, as OpenSpiel's information state.",
        "type": "string",
    }
    own = {name: make_agent(name) for name in STRATEGIES if name not in built["agents"]}
    core.register(
        environment_name(num_players), {**built, "interpreter": _interpret, "agents": {**built["agents"], **own}}
    )


for _num_players in PLAYER_COUNTS:
    _register(_num_players)
