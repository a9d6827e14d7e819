"""The rules of the game, and nothing else: no other package implements one."""
