"""The faces that learners see: PettingZoo AEC and parallel."""
