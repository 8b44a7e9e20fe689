"""The tracing package."""
