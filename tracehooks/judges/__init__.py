"""The judges package."""
