"""The calls package."""
