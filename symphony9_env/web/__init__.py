"""The web server for playing and watching games in the browser (`symphony9 play`, `symphony9 watch`)."""

from pathlib import Path
from typing import Final

GAMES_FOLDER: Final = "symphony9-games"  # in the folder where the server is started
LOOPBACK: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8009
STATIC: Final = Path(__file__).parent / "static"
