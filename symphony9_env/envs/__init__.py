"""Environments: PettingZoo (AEC and parallel), Gymnasium (one seat and vector), and text."""
