"""The quarantine file: variants that failed their check, beside their dataset, with the reason of each.

No replay reads it. A person who thinks better of a variant moves it into the dataset, as it stands.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracehooks.noise.documents import parsed
from tracehooks.noise.emitting import as_yaml, variant_document
from tracehooks.noise.model_written import Quarantined

HEAD = "# Variants that failed their check. Nothing here is replayed; move what is good into the dataset.\n"


def quarantine_path(dataset: str | Path) -> Path:
    """Where the quarantine of the dataset file ``dataset`` is."""
    path = Path(dataset)
    return path.with_name(f"{path.stem}.quarantine.yaml")


def add_to_quarantine(dataset: str | Path, found: Sequence[Quarantined]) -> int:
    """Add to the quarantine of the file ``dataset`` what is not there yet; how many were added."""
    path = quarantine_path(dataset)
    text = path.read_text(encoding="utf-8") if path.exists() else HEAD
    entries = parsed(text, str(path), ".yaml").data or []
    there = {(entry.get("case"), entry["variant"]["id"]) for entry in entries}
    new = [one for one in found if (one.case, one.variant.id) not in there]
    if new:
        path.write_text(text + as_yaml([_document(one) for one in new]), encoding="utf-8")
    return len(new)


def _document(one: Quarantined) -> dict[str, Any]:
    return {
        "case": one.case,
        "reason": str(one.doubt),
        "detail": one.detail,
        "variant": variant_document(one.variant),
    }
