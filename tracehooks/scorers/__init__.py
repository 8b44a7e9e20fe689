"""The scorers package."""
