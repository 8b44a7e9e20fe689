"""The verbs, and the group that imports a verb's file only when the verb is called."""

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

# section -> verb -> (module, what it does); a verb not built yet is not listed
SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Start": {
        "init": ("init", "Write a commented settings file to begin with."),
        "doctor": ("doctor", "Check the installation, the settings and the store."),
        "demo": ("demo", "Trace a small help desk, to have something to judge."),
    },
    "Nights": {
        "plan": ("plan", "Say what a run would do and cost; nothing is written."),
        "run": ("run", "Judge traced calls, replay noisy questions, end in one verdict."),
        "schedule": ("schedule", "Run the nights by themselves, when they are due."),
        "resume": ("resume", "Finish a run that was cut short."),
        "status": ("status", "Show the last runs and what waits; exit code for a check."),
        "outbox": ("outbox", "Show what is on its way to the sinks; send it now."),
        "gate": ("gate", "Give one verdict for a deployment; JUnit, JSON, Markdown."),
        "report": ("report", "Show a run's report again, also as Markdown or HTML."),
    },
    "Noise": {
        "datasets": ("datasets", "Check dataset files; make cases of calls; push and pull."),
        "baseline": ("baseline", "Capture the answers to the clean questions; review them."),
        "variants": ("variants", "Make noise for the cases of a dataset."),
        "reference": ("reference", "Bless noise runs to compare with; show what moved."),
    },
    "Look": {
        "explain": ("explain", "Say why a trace has a score, or none."),
        "traces": ("traces", "List traced calls with their scores; prune old ones."),
        "scores": ("scores", "List scores with their reasons."),
        "labels": ("labels", "Let people look at calls in a queue; bring back what they say."),
        "view": ("view", "Look at all of it in the browser, on this machine only."),
    },
}
VERBS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class Verbs(TyperGroup):
    """The group of all verbs."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All verbs, in the order in which one needs them."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb's command, its file imported now. An unknown verb is a usage error with a suggestion."""
        if cmd_name in VERBS:
            app = import_module(f"tracehooks.cli.{VERBS[cmd_name][0]}").app
            command = typer.main.get_command(app)
            command.name = cmd_name
            return command
        if not ctx.resilient_parsing:
            close = difflib.get_close_matches(cmd_name, VERBS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(VERBS)}"
            ctx.fail(f"there is no verb {cmd_name!r}; {hint}")
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The verbs in sections, from the table alone, so that help need not import them."""
        for title, verbs in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, (_, summary) in verbs.items()])


def verb_app(**options: Any) -> typer.Typer:
    """A Typer for one verb, set up as all of them are."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **options)


def examples(*commands: str) -> str:
    """Examples for the end of a verb's help, one a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)
