import os
from collections.abc import Iterator

import pytest

from tests.cli.shop import Inside, Outcome, Shop, environment
from tests.fake_openai import FakeOpenAI, ToxicWords
from tracehooks.cli import main


@pytest.fixture(scope="module")
def judge() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(ToxicWords()) as server:
        yield server


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Runs the command line in this process, which is quicker than one of its own; pipes for its output."""

    def run(shop: Shop, *args: str) -> Outcome:
        monkeypatch.chdir(shop.folder)
        for name in set(os.environ) - set(environment()):
            monkeypatch.delenv(name)
        code = main(args)
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return run
