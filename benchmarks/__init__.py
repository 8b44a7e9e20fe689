"""What tracehooks costs, measured: ``python -m benchmarks`` (see docs/benchmarks.md)."""
