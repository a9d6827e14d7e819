"""Environments: PettingZoo (AEC and parallel) and Gymnasium (one seat and vector)."""
