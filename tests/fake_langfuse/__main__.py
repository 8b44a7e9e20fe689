"""``python -m tests.fake_langfuse``: serve until killed. The first line printed is the base URL."""

import argparse
import threading

from tests.fake_langfuse import MODES, FakeLangfuse


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fake_langfuse", description=__doc__)
    parser.add_argument("--mode", choices=list(MODES), default="dual")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ingestion-delay", type=float, default=0.0, help="seconds until a score shows")
    parser.add_argument(
        "--propagation-delay", type=float, default=600.0, help="seconds for spans without the header"
    )
    parser.add_argument("--public-key", default="pk-lf-lab-0000")
    parser.add_argument("--secret-key", default="sk-lf-lab-0000")
    parser.add_argument("--calls", type=int, default=0, help="agent calls to begin with")
    options = parser.parse_args()
    server = FakeLangfuse(
        options.mode,
        options.ingestion_delay,
        propagation_delay=options.propagation_delay,
        port=options.port,
        public_key=options.public_key,
        secret_key=options.secret_key,
    )
    with server:
        server.add_calls(options.calls)
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
