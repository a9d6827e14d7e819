"""States in the browser: playing (`symphony9 play`) and watching records (`symphony9 watch`)."""

from typing import Final

GAMES_FOLDER: Final = "symphony9-games"  # in the folder where the server is started
LOOPBACK: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8009
