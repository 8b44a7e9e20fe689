"""A finding of `tracehooks doctor`."""

from tracehooks.protocols import Finding, Grade

__all__ = ["Finding", "Grade"]
