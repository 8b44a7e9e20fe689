"""``tracehooks view``: the local viewer."""

import socket
import webbrowser
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.reports.charts import require

if TYPE_CHECKING:
    from tracehooks.store import Store

LOOPBACK = "127.0.0.1"
PORT = 8321
WAITING = 64

app = verb_app()


@app.command(epilog=examples("tracehooks view", "tracehooks view --port 0 --no-browser --config demo"))
def view(
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes a free one.")
    ] = PORT,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    config: ConfigOption = None,
) -> int:
    """Look at traces, scores, runs and noise in the browser: on this machine only, and read only.

    Ctrl-C ends it.
    """
    require()
    settings = read_settings(config)
    with reading(settings) as store, _listening(port) as listener:
        address = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        output.say(f"{address} shows {store.url}; Ctrl-C ends it")
        if browser:
            webbrowser.open(address)
        _server(store, config_hint(config)).run(sockets=[listener])
    return 0


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        why = error.strerror or error
        raise ConfigurationError(
            f"port {port} cannot be used: {why}; choose another with --port, or --port 0"
        ) from None
    return listener


def _server(store: "Store", hint: str) -> Any:
    import uvicorn

    from tracehooks.web import make_app

    return uvicorn.Server(
        uvicorn.Config(make_app(store, hint=hint), log_level="warning", access_log=False, lifespan="off")
    )
