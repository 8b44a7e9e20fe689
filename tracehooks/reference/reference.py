"""A reference: pooled, blessed noise runs, with all that it takes to compare with them or judge again."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from tracehooks.errors import ConfigurationError
from tracehooks.noise.rows import NoiseRow
from tracehooks.records import Reason
from tracehooks.reference.conditions import Conditions, unlike
from tracehooks.store import RunRecord, Store
from tracehooks.store.references import ReferenceRecord

Origin = Literal["blessed", "rejudged"]
FORM = 1
"""The form of a stored or exported reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRow:
    """One answer that was blessed: its row, and the agent's text, so that it can be judged again."""

    row: NoiseRow
    answer: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON-ready values; what is empty is left out."""
        return {
            key: value
            for key, value in {**asdict(self.row), "answer": self.answer}.items()
            if value is not None
        }

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> "ReferenceRow":
        """What :meth:`as_dict` made."""
        values = dict(entry)
        answer = values.pop("answer", None)
        reason = values.pop("reason", None)
        if not isinstance(values.get("value", 0.0), int | float):
            raise ValueError(f"a row's value is a number, got {values['value']!r}")
        return cls(row=NoiseRow(**values, reason=None if reason is None else Reason(reason)), answer=answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What later runs are compared with.

    ``runs`` were pooled; ``candidates`` are all comparable runs there were since the blessing before, and
    ``left_out_because`` says why some of them are not in the pool, if so. ``cases`` maps a dataset's name to
    its cases' hashes. ``origin`` is ``rejudged`` when the stored answers of ``parent`` were judged again.
    """

    project: str
    conditions: Conditions
    rows: tuple[ReferenceRow, ...]
    runs: tuple[str, ...]
    candidates: tuple[str, ...]
    blessed_at: datetime
    blessed_by: str
    cases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out_because: str | None = None
    origin: Origin = "blessed"
    parent: str | None = None
    number: int = 0

    @property
    def id(self) -> str:
        """16 hex digits over all that it holds but its number."""
        text = json.dumps(self.as_dict(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def agent(self) -> str:
        """The name of the agent whose answers these are."""
        return self.conditions.agent

    @property
    def score_name(self) -> str:
        """The name of the scores."""
        return self.conditions.score_name

    @property
    def noise_rows(self) -> list[NoiseRow]:
        """The rows that a run is compared with."""
        return [one.row for one in self.rows]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The candidates that are not in the pool."""
        return tuple(run for run in self.candidates if run not in self.runs)

    @property
    def repeats(self) -> int:
        """How many answers the variant with the fewest has."""
        return fewest_repeats(self.noise_rows)

    def as_dict(self) -> dict[str, Any]:
        """As JSON-ready values, to store, export and hash; :func:`read_reference` reads them back."""
        return {
            "form": FORM,
            "project": self.project,
            "conditions": self.conditions.as_dict(),
            "runs": list(self.runs),
            "candidates": list(self.candidates),
            "left_out_because": self.left_out_because,
            "blessed_at": self.blessed_at.isoformat(),
            "blessed_by": self.blessed_by,
            "cases": {name: dict(hashes) for name, hashes in self.cases.items()},
            "origin": self.origin,
            "parent": self.parent,
            "rows": [row.as_dict() for row in self.rows],
        }


def fewest_repeats(rows: Sequence[NoiseRow]) -> int:
    """How many rows the variant with the fewest has; 0 when there is none."""
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        counts[row.case, row.variant] = counts.get((row.case, row.variant), 0) + 1
    return min(counts.values(), default=0)


def read_reference(document: Mapping[str, Any]) -> Reference:
    """What :meth:`Reference.as_dict` made. Raises ConfigurationError for anything else."""
    if not isinstance(document, Mapping):
        raise _no_reference(f"it holds a {type(document).__name__}, where a reference is a JSON object")
    try:
        if document["form"] != FORM:
            raise ConfigurationError(
                f"a reference of form {document['form']!r} was written by another version of tracehooks; "
                "upgrade: pip install -U tracehooks"
            )
        return Reference(
            project=str(document["project"]),
            conditions=Conditions.of(document["conditions"]),
            rows=tuple(ReferenceRow.read(row) for row in document["rows"]),
            runs=tuple(document["runs"]),
            candidates=tuple(document["candidates"]),
            left_out_because=document.get("left_out_because"),
            blessed_at=datetime.fromisoformat(document["blessed_at"]),
            blessed_by=str(document["blessed_by"]),
            cases=document.get("cases") or {},
            origin=document.get("origin", "blessed"),
            parent=document.get("parent"),
        )
    except KeyError as error:
        raise _no_reference(f"it has no {error.args[0]!r}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise _no_reference(f"what it holds is of another kind: {error}") from None


def _no_reference(why: str) -> ConfigurationError:
    return ConfigurationError(f"this is no reference: {why}; `tracehooks reference show --json` writes one")


def store_reference(store: Store, reference: Reference) -> Reference:
    """Keep ``reference`` after those before it; returns it with its number. Storing it twice keeps one."""
    record = store.references.add(
        reference.id,
        project=reference.project,
        agent=reference.agent,
        score_name=reference.score_name,
        blessed_at=reference.blessed_at,
        document=reference.as_dict(),
    )
    return replace(reference, number=record.number)


def reference_of(record: ReferenceRecord) -> Reference:
    """The reference that ``record`` holds."""
    return replace(read_reference(record.document), number=record.number)


def reference_for(store: Store, *, project: str, agent: str, score_name: str) -> Reference | None:
    """The reference in force for this project, agent and score; None when none was blessed.

    Whether a run may be compared with it is for :func:`differences` to say.
    """
    record = store.references.latest(project=project, agent=agent, score_name=score_name)
    return None if record is None else reference_of(record)


def differences(reference: Reference, run: RunRecord) -> list[str]:
    """What keeps ``run`` from being compared with ``reference``, a sentence each; empty when nothing does.

    Looks at datasets, judge model, prompt, scorer and agent name. The agent's version is free to differ.
    """
    return unlike(reference.conditions, Conditions.of(run.plan))
