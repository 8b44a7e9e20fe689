from datetime import timedelta
from typing import Any

import pytest

from tests.store.making import START
from tracehooks.errors import ConfigurationError
from tracehooks.store import Store
from tracehooks.store.references import ReferenceRecord

KEY: dict[str, Any] = {"project": "shop", "agent": "support", "score_name": "noise_facts"}


def add(store: Store, reference_id: str, days: int = 0, **more: Any) -> ReferenceRecord:
    fields: dict[str, Any] = {**KEY, "blessed_at": START + timedelta(days=days), "document": {"rows": [1]}}
    return store.references.add(reference_id, **fields | more)


def test_the_reference_in_force_is_the_one_blessed_last_and_the_others_are_kept(store: Store) -> None:
    """History, newest first, numbered from 1; each project, agent and score by itself."""
    assert store.references.latest(**KEY) is None
    first, second = add(store, "a1"), add(store, "b2", days=1)
    other = add(store, "c3", days=2, agent="sales")
    assert (first.number, second.number, other.number) == (1, 2, 1)
    assert store.references.latest(**KEY) == second
    assert store.references.history(**KEY) == [second, first]
    assert store.references.history(project="shop") == [other, second, first]


def test_storing_a_reference_twice_keeps_one_and_overwrites_nothing(store: Store) -> None:
    """Loading the same file on every CI run must not grow the history."""
    first = add(store, "a1")
    assert add(store, "a1", days=3, document={"rows": []}) == first
    assert store.references.history(**KEY) == [first]


def test_a_reference_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    """Enough of it; too little or wrong is an error that says what to do."""
    found = add(store, "abc1")
    add(store, "abd2")
    assert store.references.get("abc") == found
    for wrong in ("ab", "", "%", "zz"):
        with pytest.raises(ConfigurationError, match="reference show --all"):
            store.references.get(wrong)
