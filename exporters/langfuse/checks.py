"""What `tracehooks doctor` looks at in Langfuse: keys, server, clock, score configs, and a round trip."""

from collections.abc import Iterator
from datetime import UTC, datetime

from tracehooks.errors import TracehooksError
from tracehooks.exporters.langfuse.client import Client, Unreachable
from tracehooks.exporters.langfuse.configs import ScoreConfigs
from tracehooks.exporters.langfuse.expected import Expected, expected_scores
from tracehooks.exporters.langfuse.pace import server_time
from tracehooks.exporters.langfuse.round_trip import round_trip
from tracehooks.exporters.langfuse.server import Server, ServerFacts
from tracehooks.protocols import Finding
from tracehooks.settings import Settings

ABOUT = "langfuse"
SKEW_SECONDS = 5.0
UNVERIFIED = frozenset({"v3", "v4.59"})
WRITES = {"list": "score lists", "events": "score events", "single": "one score a request"}
FIX = "`tracehooks doctor --fix` makes it"


def checks(settings: Settings, *, network: bool, fix: bool) -> Iterator[Finding]:
    """All findings about Langfuse; none when nothing of it is set up. ``fix`` makes missing score configs."""
    section = settings.langfuse
    if not section.has_keys:
        yield from _missing_keys(settings)
        return
    client = Client.from_settings(settings)
    if not network:
        yield Finding("note", ABOUT, f"{client.base_url} not asked (--no-network)")
        return
    try:
        server = Server(client)
        facts = server.facts()
        yield _server(client, facts)
        yield _public_key(client, facts)
        yield from _clock(client)
        yield from score_configs(settings, ScoreConfigs(client), fix=fix)
        yield from round_trip(client, server)
        yield _where_things_go(settings)
    except Unreachable as error:
        yield Finding("bad", ABOUT, str(error), "is LANGFUSE_BASE_URL right, and the server up?")
    except TracehooksError as error:
        yield Finding("bad", ABOUT, str(error))
    finally:
        client.close()


def _missing_keys(settings: Settings) -> Iterator[Finding]:
    section = settings.langfuse
    given = {"LANGFUSE_PUBLIC_KEY": section.public_key, "LANGFUSE_SECRET_KEY": section.secret_key}
    missing = [name for name, key in given.items() if key is None or not key.get_secret_value()]
    if len(missing) < len(given) or ABOUT in settings.sinks:
        yield Finding(
            "bad", ABOUT, f"{' and '.join(missing)} not set", "set it: the project's settings show it"
        )


def _server(client: Client, facts: ServerFacts) -> Finding:
    version = facts.version or "of unknown version"
    what = f"{client.base_url} is {version}, kind {facts.kind}; it takes {WRITES[facts.writes]}"
    if facts.kind in UNVERIFIED:
        return Finding(
            "note", ABOUT, what, "servers of this kind were not tested; the round trip below tells"
        )
    return Finding("ok", ABOUT, what)


def _public_key(client: Client, facts: ServerFacts) -> Finding:
    """The server looks only the secret key up: a wrong public key is told by using it alone."""
    reply = client.as_public_key("GET", facts.observations_path)
    if reply.status == 401:
        remedy = "copy LANGFUSE_PUBLIC_KEY again from the project's settings"
        return Finding("bad", "langfuse keys", "the server does not know the public key", remedy)
    if reply.status in (200, 403):
        return Finding("ok", "langfuse keys", "the server knows both")
    return Finding("note", "langfuse keys", f"the public key could not be tested: {reply.words}")


def _clock(client: Client) -> Iterator[Finding]:
    before = datetime.now(UTC)
    theirs = server_time(client.get("/health").headers)
    if theirs is None:
        return
    skew = (before - theirs).total_seconds()
    if abs(skew) <= SKEW_SECONDS:
        yield Finding("ok", "langfuse clock", "this machine's clock and the server's agree")
        return
    what = f"this machine's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the server's"
    yield Finding("note", "langfuse clock", what, "let NTP set it: windows and times of scores go by it")


def score_configs(settings: Settings, configs: ScoreConfigs, *, fix: bool) -> Iterator[Finding]:
    """Whether the project's score configs take the scores that will come; with ``fix`` makes missing ones."""
    for expected in expected_scores(settings):
        known = configs.named(expected.name)
        if known:
            yield _suits(expected, [expected.problem(config) for config in known])
        elif expected.can_have_config and fix:
            configs.create(expected.name, **expected.fields())
            yield Finding("ok", "score config", f"{expected.name}: made")
        elif expected.can_have_config:
            what = f"{expected.name}: there is none; scores go there all the same, without a range"
            yield Finding("note", "score config", what, FIX)


def _suits(expected: Expected, problems: list[str | None]) -> Finding:
    if None in problems:
        return Finding("ok", "score config", f"{expected.name}: takes every value")
    what = f"{expected.name}: would have scores refused: {problems[0]}"
    return Finding("bad", "score config", what, "change the config in Langfuse, or archive it")


def _where_things_go(settings: Settings) -> Finding:
    spans = "every agent's spans" if settings.langfuse.spans else "no spans"
    scores = "scores" if ABOUT in settings.sinks else "no scores (`sinks` does not name it)"
    return Finding("ok", ABOUT, f"gets {spans} and {scores}")
