"""Adapters for other libraries, one module each. The library itself is an optional extra of the same name."""
