"""The door: arguments in, exit code out. No error leaves as a traceback.

Exit codes: 0 pass or done, 1 fail, 2 usage, configuration or an error, 3 could not decide, 130 interrupted
(143 by SIGTERM). A reader that goes away (``| head``) does not change the code.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.signals import INTERRUPTED, Interrupted, termination_as_interrupt
from tracehooks.cli.verbs import Verbs, examples
from tracehooks.errors import PartialReadError, TracehooksError

USAGE, UNDECIDED = 2, 3
# typer carries its own copy of click's exceptions, or click's: told by their place above a name it exports
UsageFault: type[Any] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=examples(
        "tracehooks demo && tracehooks run nightly --config demo",
        "tracehooks explain 4f1c2d3e4a5b",
    ),
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        output.write(f"tracehooks {version('tracehooks')}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an unexpected error. Goes with every verb.")
    ] = False,
) -> None:
    """Trace LLM agents, judge a sample of their calls, and get one verdict.

    Exit codes: 0 pass, 1 fail, 2 usage or configuration, 3 could not decide, 130 interrupted.
    """


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. ``args`` are those of the process unless given."""
    words = list(sys.argv[1:] if args is None else args)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    with termination_as_interrupt() as ended_by:
        try:
            code = _run(words)
        except (Interrupted, KeyboardInterrupt) as stopped:
            code = _complain(words, ended_by.code, str(stopped) or "interrupted")
        except PartialReadError as error:
            code = _complain(words, UNDECIDED, str(error))
        except TracehooksError as error:
            code = _complain(words, USAGE, str(error))
        except Exception as error:
            if debug:
                raise
            what = f"unexpected {type(error).__name__}: {error}"
            code = _complain(words, USAGE, f"{what} (run again with --debug to see where)")
    output.finish()
    return code


def _run(words: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        code = command.main(args=words or ["--help"], prog_name="tracehooks", standalone_mode=False)
    except UsageFault as fault:
        return _complain(words, USAGE, _usage(fault))
    except typer.Abort:
        raise KeyboardInterrupt from None
    if code == INTERRUPTED:  # how newer versions of typer hand on a KeyboardInterrupt
        raise KeyboardInterrupt
    return int(code or 0) if words else USAGE


def _usage(fault: Any) -> str:
    context = getattr(fault, "ctx", None)
    verb = context.command_path if context is not None else "tracehooks"
    message = fault.format_message()
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{verb} --help`."


def _complain(words: Sequence[str], code: int, message: str) -> int:
    """One sentence to people, and the same as a document where a program reads."""
    output.say(f"tracehooks: {message}", style="red" if code == USAGE else "yellow")
    if "--json" in words:
        output.show_json({"error": message, "exit_code": code})
    return code
