"""``tracehooks status``: how things stand."""

from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.session import config_hint, is_stored, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.reports.status import status_dict, status_renderable, status_report

app = verb_app()


@app.command(epilog=examples("tracehooks status", "tracehooks status --json || page-somebody"))
def status(config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Show the last runs with their verdicts, what is unfinished, what waits for a sink, and what is stored.

    The exit code serves a check: 0 when the last run of each job passed, 1 when one failed, 3 when there is
    none, or one is undecided or unfinished, or a score can never be delivered.
    """
    settings = read_settings(config)
    with reading(settings) as store:
        found = status_report(store, stored=is_stored(settings), hint=config_hint(config))
    if as_json:
        output.show_json(status_dict(found))
    else:
        output.show(status_renderable(found, output.width()))
    return found.exit_code
