"""`variants generate`."""

import json
import re
from pathlib import Path
from typing import Any

from tests.cli.shop import Inside, Shop
from tests.cli.test_datasets import GOOD, shop_with
from tests.fake_openai import FakeOpenAI, block
from tracehooks.noise.reading import read_dataset

FILE = "config/datasets/desk.yaml"


def writes(body: dict[str, Any]) -> dict[str, Any]:
    """A model that writes two questions, and finds that one of them asks for something else."""
    if "how_many" in body["messages"][-1]["content"]:
        queries = ("My uncle swears it is 36 months. How long is the warranty?", "How long is it for a car?")
        return {"variants": [{"query": query, "noise": "an uncle"} for query in queries]}
    same = "car" not in block(body["messages"], "noisy_question")
    return {"same_answer": "yes" if same else "no", "reason": "It asks for the same." if same else "A car."}


def test_the_same_seed_makes_the_same_bytes_and_twice_adds_nothing(tmp_path: Path, inside: Inside) -> None:
    """Byte for byte, in two folders; what was in the file stays."""
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shop = shop_with(tmp_path / name, desk_yaml=GOOD)
        assert inside(shop, "variants", "generate", "--seed", "7", "--per-type", "2").code == 0
        texts.append((tmp_path / name / FILE).read_bytes())
    assert texts[0] == texts[1]
    assert len(read_dataset(tmp_path / "one" / FILE).cases[0].variants) > 10
    kept = [line for line in GOOD.splitlines() if line in texts[0].decode().splitlines()]
    assert kept == GOOD.splitlines()
    again = inside(shop, "variants", "generate", "--seed", "7", "--per-type", "2")
    assert "Added 0 variants" in again.out
    assert (tmp_path / "two" / FILE).read_bytes() == texts[0]
    other = inside(shop, "variants", "generate", "--seed", "8", "--dry-run", "--json").json
    assert sum(len(one["variants"]) for one in other["cases"]) > 5


def test_a_dry_run_shows_what_cannot_be_seen_and_writes_nothing(tmp_path: Path, inside: Inside) -> None:
    """A look-alike is shown as the escape that it is."""
    shop = shop_with(tmp_path, desk_yaml=GOOD)
    result = inside(shop, "variants", "generate", "--dry-run", "--type", "lookalikes", "--case", "warranty")
    assert result.code == 0
    assert re.search(r"warranty: lookalikes: .*\\u0", result.out)
    assert result.out.endswith("Would add 1 variant to 1 case.\n")
    assert (tmp_path / FILE).read_text(encoding="utf-8") == GOOD


def test_a_model_writes_too_and_what_fails_its_check_is_in_quarantine(tmp_path: Path, inside: Inside) -> None:
    """With its reason, in a file that no replay reads; a second time nothing is doubled."""
    with FakeOpenAI(writes) as judge:
        shop = Shop.at(tmp_path, url=judge.url)
        (tmp_path / FILE).parent.mkdir(parents=True)
        (tmp_path / FILE).write_text(GOOD, encoding="utf-8")
        args = ("variants", "generate", "--type", "misinformation", "--per-type", "2", "--model-written")
        result = inside(shop, *args)
        assert result.code == 0, result.err
        assert "hours: all: the model wrote nothing: the case has no baseline" in result.out
        assert "1 variant failed the check and went to quarantine" in result.out
        first = (tmp_path / FILE).read_bytes()
        assert inside(shop, *args).code == 0
    variants = read_dataset(tmp_path / FILE).cases[0].variants
    written = [one for one in variants if "model-written" in one.tags]
    assert [one.content for one in written] == ["My uncle swears it is 36 months. How long is the warranty?"]
    assert written[0].provenance["model"] == "judge-2026"
    quarantine = (tmp_path / "config/datasets/desk.quarantine.yaml").read_text(encoding="utf-8")
    assert quarantine.count("changed_answer") == 1
    assert "A car." in quarantine
    assert (tmp_path / FILE).read_bytes() == first
    assert inside(shop, "datasets", "validate").code == 0


def test_what_cannot_be_made_is_one_sentence(tmp_path: Path, inside: Inside) -> None:
    """A wrong type, case, carrier or file, and a model where there is no judge."""
    shop = shop_with(tmp_path, desk_yaml=GOOD, old_json=json.dumps({"cases": []}))
    (tmp_path / "tracehooks.yaml").write_text("service: desk\n")
    for args, says in (
        (("--type", "sarcasm"), "noise type 'sarcasm' cannot be generated"),
        (("--case", "nosuch"), "no dataset holds such a case"),
        (("--carrier", "tool:"), "must be query, turn, document or tool:NAME"),
        (("config/datasets/old.json",), "only read"),
        (("--model-written",), "needs a judge"),
    ):
        result = inside(shop, "variants", "generate", *args)
        assert result.code == 2, args
        assert says in result.err


def test_a_models_variants_end_with_the_days_budget(tmp_path: Path, inside: Inside) -> None:
    """One request a day: it is sent, the others are not, and the reason is told."""
    with FakeOpenAI(writes) as judge:
        shop = Shop.at(tmp_path, url=judge.url)
        (tmp_path / FILE).parent.mkdir(parents=True)
        (tmp_path / FILE).write_text(GOOD, encoding="utf-8")
        with (tmp_path / "tracehooks.yaml").open("a", encoding="utf-8") as settings:
            settings.write("\nbudget: {day: {calls: 1}}\n")
        args = ("variants", "generate", "--type", "misinformation", "--per-type", "2", "--model-written")
        first, second = inside(shop, *args), inside(shop, *args)
        assert (first.code, second.code) == (0, 0), first.err
        assert judge.count == 1
    assert "over_budget" in second.out
