"""Dataset files and Langfuse datasets in step."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fake_langfuse import FakeLangfuse
from tests.fake_langfuse.fixtures import any_langfuse, langfuse
from tracehooks.cli.main import main
from tracehooks.exporters.langfuse import pages
from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.datasets import LangfuseDatasets
from tracehooks.noise.cases import NoiseCase, NoiseVariant
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.reading import read_dataset
from tracehooks.noise.updating import update_file

__all__ = ["any_langfuse", "langfuse"]

EXAMPLES = Path(__file__).parents[3] / "config" / "datasets"
DESK = """\
# the questions that customers ask most
name: desk
cases:
  - id: warranty     # asked daily
    query: How long is the warranty?
    baseline: 24 months.
    tags: [legal]
    variants:
      - {id: forum, noise_type: misinformation, content: A forum says 36 months. How long is the warranty?}
  - id: count
    query: "2"
    baseline: '{"answer": 2}'
"""


def store(server: FakeLangfuse) -> LangfuseDatasets:
    return LangfuseDatasets(Client(server.url, server.public_key, server.secret_key))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line in a folder with one dataset; takes the server first."""
    (tmp_path / "desk.yaml").write_text(DESK)
    (tmp_path / "tracehooks.yaml").write_text(
        'jobs: {noise: {datasets: ["*.yaml"]}}\n'.replace("*.yaml", "desk.yaml")
    )
    monkeypatch.chdir(tmp_path)

    def run(server: FakeLangfuse, *words: str) -> int:
        for name, value in (("BASE_URL", server.url), ("PUBLIC_KEY", server.public_key)):
            monkeypatch.setenv(f"LANGFUSE_{name}", value)
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", server.secret_key)
        return main(["datasets", *words])

    return run


@pytest.mark.parametrize("name", ["help-desk", "security"])
def test_what_was_pushed_comes_back_the_same(any_langfuse: FakeLangfuse, name: str) -> None:
    """Facts, tags, minimum scores, carriers and turns: the content hash says that nothing was lost."""
    dataset = read_dataset(EXAMPLES / f"{name}.yaml")
    done = store(any_langfuse).push(dataset)
    assert len(done.created) == len(dataset.cases) + sum(len(case.variants) for case in dataset.cases)
    assert done.changed_back == []
    assert store(any_langfuse).pull(dataset.name).dataset.hash == dataset.hash


def test_a_text_that_looks_like_json_stays_a_text(any_langfuse: FakeLangfuse) -> None:
    """Langfuse would make the number 2 of "2", and an exact comparison would fail from then on."""
    texts = ("2", "true", "null", '{"a": 1}', '"quoted"', "[1]", "1e400", "NaN", "plain", " 3 ")
    cases = tuple(NoiseCase(id=f"c{place}", query=text, baseline=text) for place, text in enumerate(texts))
    assert store(any_langfuse).push(Dataset(name="texts", cases=cases)).changed_back == []
    found = store(any_langfuse).pull("texts").dataset
    assert [(case.query, case.baseline) for case in found.cases] == [
        (case.query, case.baseline) for case in cases
    ]


def test_a_second_push_sends_only_what_has_changed(any_langfuse: FakeLangfuse) -> None:
    """Ids stay the same, so a change updates its item, and nothing is doubled."""
    dataset = Dataset(
        name="desk", cases=tuple(NoiseCase(id=f"c{n}", query=f"q{n}", baseline="a") for n in range(3))
    )
    store(any_langfuse).push(dataset)
    again = store(any_langfuse).push(dataset)
    assert (again.unchanged, again.created, again.updated) == (3, [], [])
    changed = NoiseCase(id="c1", query="q1", baseline="b")
    third = store(any_langfuse).push(Dataset(name="desk", cases=(dataset.cases[0], changed)))
    assert (third.updated, third.archived, third.unchanged) == (["desk:c1"], ["desk:c2"], 1)
    assert [case.baseline for case in store(any_langfuse).pull("desk").dataset.cases] == ["a", "b"]


def test_archived_cases_are_left_out(any_langfuse: FakeLangfuse) -> None:
    """Those of the file are archived there with their variants; those archived there are marked here."""
    variant = NoiseVariant(id="v", noise_type="misinformation", content="noisy")
    kept = NoiseCase(id="kept", query="q", baseline="a")
    gone = NoiseCase(id="gone", query="q", baseline="a", variants=(variant,))
    store(any_langfuse).push(Dataset(name="desk", cases=(kept, gone)))
    archived = NoiseCase(id="gone", query="q", baseline="a", variants=(variant,), archived=True)
    done = store(any_langfuse).push(Dataset(name="desk", cases=(kept, archived)))
    assert done.archived == ["desk:gone", "desk:gone:v"]
    assert [case.id for case in store(any_langfuse).pull("desk").dataset.cases] == ["kept"]
    beside = store(any_langfuse).pull("desk", Dataset(name="desk", cases=(kept, gone))).dataset
    assert [(case.id, case.archived) for case in beside.cases] == [("kept", False), ("gone", True)]


def test_all_pages_are_read(any_langfuse: FakeLangfuse, monkeypatch: pytest.MonkeyPatch) -> None:
    """120 items, 50 a page, are 120 cases, langfuse/langfuse-python#768."""
    monkeypatch.setattr(pages.Pages.by_number, "__kwdefaults__", {"limit": 50, "what": "rows"})
    cases = tuple(NoiseCase(id=f"c{n:03}", query=f"q{n}", baseline="a") for n in range(120))
    assert len(store(any_langfuse).push(Dataset(name="many", cases=cases)).created) == 120
    found = store(any_langfuse).pull("many")
    assert (found.items, len(found.dataset.cases), found.foreign) == (120, 120, 0)
    assert max(int(one.query["limit"][0]) for one in any_langfuse.requests if "page" in one.query) == 50


def test_items_made_in_langfuse_become_cases_and_keep_their_ids(any_langfuse: FakeLangfuse) -> None:
    """Whatever form their input has; pushing the file back changes nothing that nobody changed."""
    client = Client(any_langfuse.url, any_langfuse.public_key, any_langfuse.secret_key)
    client.post("/v2/datasets", {"name": "theirs"})
    for place, given in enumerate(
        ({"question": "How late?"}, [{"role": "user", "content": "Where?"}], "Why?")
    ):
        body = {
            "datasetName": "theirs",
            "id": f"item-{place}",
            "input": given,
            "expectedOutput": {"answer": "So."},
        }
        assert client.post("/dataset-items", body).ok
    client.post("/dataset-items", {"datasetName": "theirs", "id": "asks-nothing", "expectedOutput": "x"})
    client.close()
    found = store(any_langfuse).pull("theirs")
    assert [(case.id, case.question, case.baseline) for case in found.dataset.cases] == [
        ("item-0", "How late?", "So."),
        ("item-1", "Where?", "So."),
        ("item-2", "Why?", "So."),
    ]
    assert (found.foreign, found.empty) == (3, 1)
    assert store(any_langfuse).push(found.dataset).unchanged == 3


def test_push_and_pull_keep_a_file_and_its_comments(
    any_langfuse: FakeLangfuse, desk: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A new item and a changed answer come into the file in their place; nothing else moves."""
    assert desk(any_langfuse, "push", "--json") == 0
    told = json.loads(capsys.readouterr().out)["datasets"][0]
    assert told["created"] == ["desk:warranty", "desk:warranty:forum", "desk:count"]
    client = Client(any_langfuse.url, any_langfuse.public_key, any_langfuse.secret_key)
    client.post("/dataset-items", {"datasetName": "desk", "id": "new", "input": "Is it new?"})
    client.post(
        "/dataset-items", {"datasetName": "desk", "id": "desk:warranty", "expectedOutput": "36 months."}
    )
    client.close()
    assert desk(any_langfuse, "pull") == 0
    assert "4 items, 1 of them made there; desk.yaml added to: 3 cases, 1 variant" in capsys.readouterr().out
    text = Path("desk.yaml").read_text()
    assert "# the questions that customers ask most" in text
    assert "# asked daily" in text
    found = read_dataset("desk.yaml")
    assert [(case.id, case.baseline) for case in found.cases] == [
        ("warranty", "36 months."),
        ("count", '{"answer": 2}'),
        ("new", None),
    ]
    assert desk(any_langfuse, "pull") == 0
    assert "unchanged" in capsys.readouterr().out


def test_a_dataset_that_is_not_here_yet_gets_a_file(
    langfuse: FakeLangfuse, desk: Callable[..., int], tmp_path: Path
) -> None:
    """Where one says, or among the datasets; a name that Langfuse does not know is one clear error."""
    store(langfuse).push(read_dataset(EXAMPLES / "security.yaml"))
    assert desk(langfuse, "pull", "security", "--to", "elsewhere.yaml") == 0
    assert read_dataset("elsewhere.yaml").hash == read_dataset(EXAMPLES / "security.yaml").hash
    assert desk(langfuse, "pull", "security") == 0
    assert (tmp_path / "config" / "datasets" / "security.yaml").is_file()
    assert desk(langfuse, "pull", "nowhere") == 2


def test_without_keys_and_with_a_refusal_the_words_help(
    langfuse: FakeLangfuse,
    desk: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The missing key is named; so is the item that the server will not take."""
    langfuse.fail(
        "/api/public/dataset-items", method="POST", status=400, body={"message": "too odd"}, times=None
    )
    assert desk(langfuse, "push") == 2
    assert "Langfuse does not take desk:warranty: 400 too odd" in capsys.readouterr().err
    langfuse.down()
    for verb in ("push", "pull"):
        assert desk(langfuse, verb) == 2
        told = capsys.readouterr().err
        assert langfuse.url in told
        assert "tracehooks doctor" in told
    langfuse.up()
    monkeypatch.delenv("LANGFUSE_SECRET_KEY")
    assert main(["datasets", "push"]) == 2
    assert "LANGFUSE_SECRET_KEY" in capsys.readouterr().err


def test_a_file_in_which_more_has_changed_is_written_anew(tmp_path: Path) -> None:
    """Another question under the same id: the layout goes, the content is what it should be."""
    path = tmp_path / "help-desk.yaml"
    shutil.copy(EXAMPLES / "help-desk.yaml", path)
    before = read_dataset(path)
    cases: tuple[Any, ...] = (
        NoiseCase(id=before.cases[0].id, query="Another question", baseline="b"),
        *before.cases[1:],
    )
    new = Dataset(name=before.name, cases=cases)
    assert update_file(path, new, before) == "written anew"
    assert (read_dataset(path).hash, read_dataset(path).description) == (new.hash, before.description)
    assert update_file(path, new, read_dataset(path)) == "unchanged"
    assert list(tmp_path.iterdir()) == [path]
