"""The web server for playing and watching games in the browser (`symphony9 play`, `symphony9 watch`)."""

from pathlib import Path
from typing import Final

GAMES_FOLDER: Final = "symphony9-games"  # in the folder where the server is started
LOOPBACK: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8009
MAX_CONNECTIONS: Final = 2000
MAX_PER_ADDRESS: Final = 500  # connections
MAX_PLAYOUTS: Final = 10_000  # of `search` or `think` for each decision: about half a second on one core
STATIC: Final = Path(__file__).parent / "static"
