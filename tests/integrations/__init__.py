"""Other people's libraries: `make test-integrations` has them installed; without a library its tests are skipped."""
