"""Commands of `python -m benchmarks`."""
