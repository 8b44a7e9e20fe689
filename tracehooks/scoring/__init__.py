"""The scoring package."""
