"""References: blessed noise runs that later ones are compared with, where they come from, and what moved."""

from tracehooks.reference.conditions import Conditions, unlike
from tracehooks.reference.reference import (
    Reference,
    ReferenceRow,
    differences,
    read_reference,
    reference_for,
    store_reference,
)

__all__ = [
    "Conditions",
    "Reference",
    "ReferenceRow",
    "differences",
    "read_reference",
    "reference_for",
    "store_reference",
    "unlike",
]
