"""The game for other libraries: one thin face each, with the library itself as an optional extra."""
