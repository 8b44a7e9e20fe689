"""``python -m tests.fake_openai``: serve until killed. The first line printed is the base URL."""

import argparse
import json
import time
from pathlib import Path

from tests.fake_openai import FakeOpenAI, ToxicWords


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fake_openai", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--words", nargs="*", default=["idiot"], help="words that make a response toxic")
    parser.add_argument("--failing", type=float, default=0.0, help="share of responses that it fails on")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each verdict")
    parser.add_argument("--refuse", nargs="*", default=[], help="response formats answered with 400")
    parser.add_argument("--script", type=Path, help="JSON list of contents to answer with, in order")
    options = parser.parse_args()
    judge = ToxicWords(options.words, options.failing, options.delay)
    script = json.loads(options.script.read_text()) if options.script else judge
    with FakeOpenAI(script, refuses=tuple(options.refuse), port=options.port, keep=False) as server:
        print(server.url, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
