"""Telling people how nights ended: on a webhook or by a command, each thing once, whoever finds it.

What is to be told goes into the store first, under an id that says what it is about. So several schedulers,
and one that was started anew, tell it once; and what could not be sent is sent later.
"""

import hashlib
import json
import logging
import subprocess
import urllib.error
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from tracehooks.judges.untraced import untraced
from tracehooks.posts import post
from tracehooks.records import Verdict
from tracehooks.settings import Settings
from tracehooks.settings.models import NotifySettings
from tracehooks.store import RunRecord, Store
from tracehooks.store.firings import Firing
from tracehooks.store.notices import Notice

logger = logging.getLogger("tracehooks")

WEBHOOK_SECONDS, COMMAND_SECONDS = 10.0, 30.0
LEASE = timedelta(seconds=120)
BAD = ("fail", "inconclusive", "missed")
WORDS = {
    "fail": "FAILED",
    "inconclusive": "could not decide",
    "missed": "was missed",
    "degraded": "is degraded",
    "recovered": "passes again",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What there is to say of a run about one agent, or about all (an empty name)."""

    agent: str
    verdict: Verdict | None
    reasons: tuple[str, ...]
    degraded: bool


@dataclass(frozen=True, slots=True)
class Channel:
    """One way to tell people. Its name follows from where it leads, not from its place in the settings."""

    settings: NotifySettings

    @property
    def name(self) -> str:
        """A short name that gives no secret away."""
        webhook, command = self.settings.webhook, self.settings.command
        where = webhook.get_secret_value() if webhook else json.dumps(command)
        digest = hashlib.sha256(where.encode()).hexdigest()[:8]
        return f"{'webhook' if webhook else 'command'} {digest}"

    def deliver(self, payload: Mapping[str, Any]) -> str | None:
        """Send one message; the reason when that failed."""
        try:
            with untraced():
                return self._post(payload) if self.settings.webhook else self._call(payload)
        except urllib.error.HTTPError as error:
            with error:
                return f"it answered {error.code}"
        except Exception as error:  # no text of it: that could name the address, which is a secret
            return type(error).__name__

    def _post(self, payload: Mapping[str, Any]) -> str | None:
        assert self.settings.webhook is not None
        body = json.dumps({"text": _escaped(str(payload["text"]))}).encode()
        headers = {"content-type": "application/json"}
        with post(self.settings.webhook.get_secret_value(), body, headers, timeout=WEBHOOK_SECONDS):
            return None

    def _call(self, payload: Mapping[str, Any]) -> str | None:
        done = subprocess.run(  # noqa: S603 - the command is the user's own
            self.settings.command,
            input=json.dumps(payload),
            text=True,
            timeout=COMMAND_SECONDS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return f"it ended with {done.returncode}" if done.returncode else None


class Notifier:
    """Finds out what is to be told, keeps it in the store, and sends what is there."""

    def __init__(self, settings: Settings, store: Store, *, clock: Callable[[], datetime]) -> None:
        self._project, self._store, self._clock = settings.project, store, clock
        self._channels = {channel.name: channel for channel in map(Channel, settings.notify)}

    def about(self, run: RunRecord) -> None:
        """A run has ended: tell what there is to tell."""
        notices = [
            self._notice(
                channel, kind, run.job, finding.agent, run.id, self._text(run, finding, kind, channel)
            )
            for channel in self._channels.values()
            for finding in findings(run, channel.settings.agents)
            for kind in self._kinds(run, finding, channel)
        ]
        self._add(notices)

    def about_missed(self, job: str, firings: Sequence[Firing]) -> None:
        """Slots went by in which nobody ran the job."""
        slots = ", ".join(firing.slot.replace("T", " ") for firing in firings[-5:])
        more = f" and {len(firings) - 5} before" if len(firings) > 5 else ""
        text = (
            f"{self._project}: {job} {WORDS['missed']}: nothing ran it in time at {slots}{more}. "
            "The next night covers its calls; `tracehooks status` says what runs."
        )
        notices = [
            self._notice(channel, "missed", job, "", firings[-1].slot, text)
            for channel in self._channels.values()
            if "missed" in channel.settings.about
        ]
        self._add(notices)

    def send(self) -> None:
        """Send what is due. What fails is tried again later."""
        if not self._channels:
            return
        for notice in self._store.notices.pending(LEASE):
            channel = self._channels.get(notice.channel)
            error = channel.deliver(notice.payload) if channel else "its channel is not in the settings"
            self._store.notices.settle(notice, error)
            if error is not None:
                logger.warning("%s: %s could not be told: %s", notice.channel, notice.kind, error)

    def _add(self, notices: Sequence[Notice]) -> None:
        if notices and self._store.notices.add(notices):
            self.send()

    def _kinds(self, run: RunRecord, finding: Finding, channel: Channel) -> Iterator[str]:
        for kind in self._found(run, finding, channel):
            if kind in channel.settings.about:
                yield kind

    def _found(self, run: RunRecord, finding: Finding, channel: Channel) -> Iterator[str]:
        if finding.verdict is Verdict.FAIL:
            if self._fails_in_a_row(run, finding.agent, channel.settings.fails):
                yield "fail"
        elif finding.verdict is not Verdict.PASS:
            yield "inconclusive"
        if finding.verdict in (Verdict.PASS, Verdict.FAIL) and finding.degraded:
            yield "degraded"
        if finding.verdict is Verdict.PASS:
            last = self._store.notices.latest(run.job, finding.agent, channel.name, kinds=(*BAD, "recovered"))
            if last is not None and last.kind in BAD:
                yield "recovered"

    def _fails_in_a_row(self, run: RunRecord, agent: str, wanted: int) -> bool:
        """Whether this run and those before it, so many in all, failed."""
        earlier = [
            other
            for other in self._store.runs.list(run.job, limit=10 * wanted)
            if other.id != run.id
            and other.started <= run.started
            and other.state not in ("running", "skipped")
        ]
        found = [_verdict_about(other, agent) for other in [run, *earlier][:wanted]]
        return len(found) == wanted and all(verdict is Verdict.FAIL for verdict in found)

    def _text(self, run: RunRecord, finding: Finding, kind: str, channel: Channel) -> str:
        who = f"{self._project}: {run.job}" + (f" of {finding.agent}" if finding.agent else "")
        reason = finding.reasons[0] if finding.reasons else "no reason is known"
        if kind == "degraded":
            reason = f"{sum((run.report.get('unscored') or {}).values())} calls could not be scored"
        lines = [f"{who} {WORDS[kind]}: {reason}"]
        if run.plan.get("note"):
            lines.append(f"Note: {run.plan['note']}")
        lines.append(f"Window {run.window_start:%F %R} to {run.window_end:%F %R} UTC")
        lines.append(f"Look: tracehooks report {run.id}")
        if channel.settings.link:
            lines.append(channel.settings.link.replace("{run}", run.id))
        return "\n".join(lines)

    def _notice(self, channel: Channel, kind: str, job: str, agent: str, about: str, text: str) -> Notice:
        document = {"kind": kind, "job": job, "project": self._project, "agent": agent or None}
        return Notice(
            id=f"{kind}|{job}|{agent}|{about}|{channel.name}",
            job=job,
            kind=kind,
            channel=channel.name,
            agent=agent,
            payload={**document, "about": about, "text": text},
        )


def findings(run: RunRecord, patterns: Sequence[str]) -> list[Finding]:
    """What there is to say of ``run``: about all of it, or about each agent of these names.

    One that has no verdict, or broke off, concerns everybody.
    """
    if not patterns or run.verdict is None:
        return [Finding("", run.verdict, run.reasons, bool(run.report.get("degraded")))]
    agents = run.report.get("agents") or {}
    return [
        Finding(name, Verdict(one["verdict"]), (one["reason"],), bool(one["degraded"]))
        for name, one in agents.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def _verdict_about(run: RunRecord, agent: str) -> Verdict | None:
    if not agent:
        return run.verdict
    found = (run.report.get("agents") or {}).get(agent)
    return Verdict(found["verdict"]) if found else None


def _escaped(text: str) -> str:
    """As Slack wants it: https://api.slack.com/reference/surfaces/formatting#escaping."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
