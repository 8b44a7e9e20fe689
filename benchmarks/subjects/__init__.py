"""What is measured: one module a subject, with a function ``subject`` of the form that is wanted.

Each runs in an environment that has its own product, so none imports another.
"""

from benchmarks.subjects.subject import Subject

__all__ = ["Subject"]
