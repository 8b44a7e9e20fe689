"""What batches did for a run: how many answers they brought, and how much less was paid for those."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tracehooks.judges.prices import DOLLAR, price_of
from tracehooks.scoring.spending import run_scope
from tracehooks.settings import Settings
from tracehooks.store.encoding import chunks

if TYPE_CHECKING:
    from tracehooks.store import RunRecord, Store
    from tracehooks.store.batches import StoredBatch

CALLS_AT_ONCE = 500


def batch_dict(settings: Settings, store: "Store", run: "RunRecord") -> dict[str, Any] | None:
    """What became of the run's batches, for its report; None where it was to have none.

    ``requests`` were sent, ``answered`` and ``failed`` came back. Of the run's results ``judged`` came from a
    batch and ``live`` from requests of their own. Dollars are None where no price is known.
    """
    batches, seconds = store.batches.of_run(run.id), run.plan.get("batch_seconds")
    if seconds is None and not batches:
        return None
    due, ways = run.started + timedelta(seconds=seconds or 0), _ways(store, run)
    reasons = [batch.detail for batch in batches if batch.detail]
    return {
        "waiting": any(not batch.is_over for batch in batches),
        "requests": sum(batch.requests for batch in batches),
        "answered": sum(batch.answered for batch in batches),
        "failed": sum(batch.failed for batch in batches),
        "ignored": sum(batch.ignored for batch in batches),
        "judged": ways["batched"],
        "live": ways["live"],
        "batches": [batch.remote_id for batch in batches if batch.remote_id],
        "status": [batch.status for batch in batches if batch.status],
        "due": (batches[0].due if batches else due).isoformat(),
        "reason": reasons[0] if reasons else None,
        **_saved(settings, store, run, batches),
    }


def batch_words(found: Mapping[str, Any]) -> str:
    """What the batches did, in a line."""
    if found["waiting"] and not found["requests"]:
        return "waiting for the batch of another run, which has the same calls"
    if found["waiting"]:
        return f"waiting for {found['requests']:,} answers, until {found['due']} at the latest"
    told = f"{found['judged']:,} judged by batch, {found['live']:,} live"
    if found["saved_dollars"] is not None and found["judged"]:
        told += f"; saved ${found['saved_dollars']:,.4f} ({found['saved_share']:.0%})"
    return told + (f"; {found['reason']}" if found["reason"] else "")


def _ways(store: "Store", run: "RunRecord") -> Counter[str]:
    """How many of the run's results came which way."""
    ways: Counter[str] = Counter()
    for items in chunks(store.items.of_run(run.id), CALLS_AT_ONCE):
        scores = store.scores.of_calls([item.ref for item in items], run.plan["score_name"])
        for score in scores.values():
            if score.run_id != run.id:
                continue
            if score.metadata.get("batched"):
                ways["batched"] += 1
            elif score.metadata.get("attempts"):
                ways["live"] += 1
    return ways


def _saved(
    settings: Settings, store: "Store", run: "RunRecord", batches: "Sequence[StoredBatch]"
) -> dict[str, Any]:
    """The same tokens at the price of live requests, less what they cost; and the share of the whole."""
    tokens_in = sum(batch.input_tokens for batch in batches)
    tokens_out = sum(batch.output_tokens for batch in batches)
    used = {"input_tokens": tokens_in, "output_tokens": tokens_out}
    price = price_of(run.plan.get("judge_model"), settings.judge)
    if price is None:
        return {**used, "dollars": None, "saved_dollars": None, "saved_share": None}
    paid = price.in_batch.nanos(tokens_in, tokens_out)
    saved = price.nanos(tokens_in, tokens_out) - paid
    whole = store.accounts.spent(run_scope(run)).nanos + saved
    share = saved / whole if whole else 0.0
    return {**used, "dollars": paid / DOLLAR, "saved_dollars": saved / DOLLAR, "saved_share": share}
