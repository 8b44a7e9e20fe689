"""The schema, as the numbered steps that lead to it. Tables and indexes are made here and nowhere else.

A step, once released, is never changed; a change of the schema is a new step at the end. The SQL is plain
enough for SQLite and Postgres alike. Times are microseconds since 1970 where the column does not say
``_ns``; truths are 0 or 1; JSON is text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Connection, Text, column, func, insert, inspect, select, table

from tracehooks.errors import StoreError
from tracehooks.store.database import Area, Database
from tracehooks.store.sqlite_file import VERSION_TABLE

VERSIONS = table(
    VERSION_TABLE, column("version", BigInteger), column("what", Text), column("applied_at", BigInteger)
)
MAKE_VERSIONS = (
    f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE} "
    "(version BIGINT NOT NULL PRIMARY KEY, what TEXT NOT NULL, applied_at BIGINT NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the schema, applied in one transaction."""

    what: str
    statements: tuple[str, ...]


FIRST = Step(
    "spans, calls, runs, decisions, work items, scores, outbox",
    (
        # what a process says about itself is the same for all its spans, and kept once
        "CREATE TABLE resources (id TEXT NOT NULL PRIMARY KEY, attributes TEXT NOT NULL)",
        """
        CREATE TABLE spans (
            trace_id TEXT NOT NULL,
            span_id TEXT NOT NULL,
            parent_span_id TEXT,
            name TEXT NOT NULL,
            scope TEXT NOT NULL,
            start_ns BIGINT NOT NULL,
            end_ns BIGINT NOT NULL,
            status TEXT NOT NULL,
            status_message TEXT,
            may_be_call SMALLINT NOT NULL,
            recorded_at BIGINT NOT NULL,
            resource_id TEXT NOT NULL,
            events TEXT NOT NULL,
            attributes TEXT NOT NULL,
            PRIMARY KEY (trace_id, span_id)
        )
        """,
        "CREATE INDEX spans_by_end ON spans (end_ns, trace_id)",
        # the texts come last: SQLite then lists the other columns without reading them
        """
        CREATE TABLE calls (
            trace_id TEXT NOT NULL,
            span_id TEXT NOT NULL,
            start BIGINT NOT NULL,
            ended BIGINT NOT NULL,
            name TEXT NOT NULL,
            environment TEXT NOT NULL,
            session_id TEXT,
            user_id TEXT,
            service TEXT,
            version TEXT,
            truncated SMALLINT NOT NULL,
            text_source TEXT,
            recorded_at BIGINT NOT NULL,
            tags TEXT NOT NULL,
            metadata TEXT NOT NULL,
            error TEXT,
            input TEXT,
            output TEXT,
            PRIMARY KEY (trace_id, span_id)
        )
        """,
        "CREATE INDEX calls_by_start ON calls (start, trace_id, span_id)",
        """
        CREATE TABLE runs (
            id TEXT NOT NULL PRIMARY KEY,
            job TEXT NOT NULL,
            window_start BIGINT NOT NULL,
            window_end BIGINT NOT NULL,
            state TEXT NOT NULL
                CHECK (state IN ('running', 'finished', 'skipped', 'failed', 'interrupted', 'timed_out')),
            verdict TEXT CHECK (verdict IN ('pass', 'fail', 'inconclusive')),
            reasons TEXT NOT NULL,
            plan TEXT NOT NULL,
            counts TEXT NOT NULL,
            report TEXT NOT NULL,
            started BIGINT NOT NULL,
            ended BIGINT,
            owner TEXT,
            UNIQUE (job, window_start, window_end)
        )
        """,
        "CREATE INDEX runs_by_start ON runs (started, id)",
        """
        CREATE TABLE decisions (
            run_id TEXT NOT NULL REFERENCES runs (id),
            trace_id TEXT NOT NULL,
            span_id TEXT NOT NULL,
            decision TEXT NOT NULL,
            reason TEXT NOT NULL,
            PRIMARY KEY (run_id, trace_id, span_id)
        )
        """,
        "CREATE INDEX decisions_by_trace ON decisions (trace_id)",
        # claimable_at: 0 when planned, the end of the lease when claimed, null when done
        """
        CREATE TABLE items (
            run_id TEXT NOT NULL REFERENCES runs (id),
            trace_id TEXT NOT NULL,
            span_id TEXT NOT NULL,
            score_name TEXT NOT NULL,
            probability DOUBLE PRECISION NOT NULL,
            stratum TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('planned', 'claimed', 'done')),
            status TEXT,
            reason_code TEXT,
            token BIGINT NOT NULL,
            attempts BIGINT NOT NULL,
            owner TEXT,
            claimable_at BIGINT,
            PRIMARY KEY (run_id, trace_id, span_id, score_name)
        )
        """,
        "CREATE INDEX items_claimable ON items (run_id, claimable_at, trace_id, span_id, score_name)",
        "CREATE INDEX items_by_state ON items (run_id, state, status, reason_code)",
        "CREATE INDEX items_by_trace ON items (trace_id)",
        # the bounds keep NaN and infinities out on both databases: SQLite makes NaN a null, to Postgres it
        # is greater than every number
        """
        CREATE TABLE scores (
            id TEXT NOT NULL PRIMARY KEY,
            project TEXT NOT NULL,
            name TEXT NOT NULL,
            trace_id TEXT NOT NULL,
            span_id TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('scored', 'unscored', 'skipped')),
            data_type TEXT NOT NULL,
            number DOUBLE PRECISION CHECK (number BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308),
            text TEXT,
            reason_code TEXT,
            revision BIGINT NOT NULL,
            entries BIGINT NOT NULL,
            scorer_version TEXT NOT NULL,
            run_id TEXT,
            probability DOUBLE PRECISION,
            call_start BIGINT NOT NULL,
            call_name TEXT NOT NULL,
            environment TEXT NOT NULL,
            scored_at BIGINT NOT NULL,
            source TEXT NOT NULL,
            comment TEXT NOT NULL,
            call TEXT NOT NULL,
            metadata TEXT NOT NULL,
            CHECK ((status = 'scored') = (number IS NOT NULL OR text IS NOT NULL)),
            CHECK ((status = 'scored') = (reason_code IS NULL)),
            CHECK (number IS NULL OR data_type IN ('NUMERIC', 'BOOLEAN')),
            CHECK (text IS NULL OR data_type NOT IN ('NUMERIC', 'BOOLEAN'))
        )
        """,
        "CREATE INDEX scores_by_trace ON scores (trace_id)",
        "CREATE INDEX scores_by_start ON scores (call_start, id)",
        "CREATE INDEX scores_by_name ON scores (name, call_start, id)",
        "CREATE INDEX scores_by_status ON scores (name, status, call_start, id)",
        """
        CREATE TABLE score_history (
            score_id TEXT NOT NULL REFERENCES scores (id),
            entry BIGINT NOT NULL,
            status TEXT NOT NULL,
            data_type TEXT NOT NULL,
            number DOUBLE PRECISION,
            text TEXT,
            reason_code TEXT,
            revision BIGINT NOT NULL,
            scorer_version TEXT NOT NULL,
            run_id TEXT,
            probability DOUBLE PRECISION,
            scored_at BIGINT NOT NULL,
            source TEXT NOT NULL,
            comment TEXT NOT NULL,
            metadata TEXT NOT NULL,
            PRIMARY KEY (score_id, entry)
        )
        """,
        """
        CREATE TABLE outbox (
            sink TEXT NOT NULL,
            score_id TEXT NOT NULL REFERENCES scores (id),
            revision BIGINT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'accepted', 'confirmed', 'dead')),
            attempts BIGINT NOT NULL,
            next_attempt BIGINT NOT NULL,
            owner TEXT,
            error TEXT,
            updated_at BIGINT NOT NULL,
            PRIMARY KEY (sink, score_id)
        )
        """,
        "CREATE INDEX outbox_due ON outbox (sink, state, next_attempt, score_id)",
    ),
)

LOSSES = Step(
    "losses",
    (
        "CREATE TABLE losses (noted_at BIGINT NOT NULL, spans BIGINT NOT NULL)",
        "CREATE INDEX losses_by_time ON losses (noted_at)",
    ),
)

REFERENCES = Step(
    "references",
    (
        """
        CREATE TABLE reference_sets (
            id TEXT NOT NULL PRIMARY KEY,
            project TEXT NOT NULL,
            agent TEXT NOT NULL,
            score_name TEXT NOT NULL,
            number BIGINT NOT NULL,
            blessed_at BIGINT NOT NULL,
            document TEXT NOT NULL,
            UNIQUE (project, agent, score_name, number)
        )
        """,
    ),
)

REPLAYS = Step(
    "replays",
    (
        # claimable_at: 0 when planned, the end of the lease when claimed, null when done
        """
        CREATE TABLE replays (
            run_id TEXT NOT NULL REFERENCES runs (id),
            agent TEXT NOT NULL,
            dataset TEXT NOT NULL,
            case_id TEXT NOT NULL,
            variant TEXT NOT NULL,
            repeat BIGINT NOT NULL,
            position BIGINT NOT NULL,
            noise_type TEXT NOT NULL,
            min_score DOUBLE PRECISION,
            state TEXT NOT NULL CHECK (state IN ('planned', 'claimed', 'done')),
            token BIGINT NOT NULL,
            attempts BIGINT NOT NULL,
            owner TEXT,
            claimable_at BIGINT,
            trace_id TEXT,
            span_id TEXT,
            answer TEXT,
            error TEXT,
            reason_code TEXT,
            detail TEXT NOT NULL,
            done_at BIGINT,
            PRIMARY KEY (run_id, agent, dataset, case_id, variant, repeat)
        )
        """,
        "CREATE INDEX replays_claimable ON replays (run_id, claimable_at, position)",
        "CREATE INDEX replays_by_trace ON replays (trace_id)",
    ),
)

NIGHTS = Step(
    "claims across runs, held runs, due times, schedulers, notices",
    (
        # how many results the call had when the item was planned: more of them say that another judged it
        "ALTER TABLE items ADD COLUMN seen BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX items_claimed ON items (trace_id, span_id, score_name) WHERE state = 'claimed'",
        # the end of the lease of the process that works on the run
        "ALTER TABLE runs ADD COLUMN held_until BIGINT",
        """
        CREATE TABLE firings (
            job TEXT NOT NULL,
            slot TEXT NOT NULL,
            due BIGINT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'done', 'missed')),
            window_start BIGINT,
            window_end BIGINT,
            run_id TEXT,
            noted_at BIGINT NOT NULL,
            note TEXT NOT NULL,
            PRIMARY KEY (job, slot)
        )
        """,
        "CREATE INDEX firings_by_due ON firings (job, due)",
        "CREATE TABLE schedulers (owner TEXT NOT NULL PRIMARY KEY, started BIGINT NOT NULL, seen BIGINT)",
        """
        CREATE TABLE notices (
            id TEXT NOT NULL PRIMARY KEY,
            job TEXT NOT NULL,
            agent TEXT NOT NULL,
            kind TEXT NOT NULL,
            channel TEXT NOT NULL,
            payload TEXT NOT NULL,
            created BIGINT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'sent', 'dead')),
            attempts BIGINT NOT NULL,
            next_attempt BIGINT NOT NULL,
            error TEXT
        )
        """,
        "CREATE INDEX notices_due ON notices (state, next_attempt)",
    ),
)

READ_BACKS = Step(
    "read-backs of accepted scores",
    (
        "ALTER TABLE outbox ADD COLUMN checks BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE outbox ADD COLUMN resent BIGINT NOT NULL DEFAULT 0",
    ),
)

LISTED = Step(
    "what runs listed from a backend",
    (
        """
        CREATE TABLE listed (
            run_id TEXT NOT NULL REFERENCES runs (id),
            part BIGINT NOT NULL,
            keys TEXT NOT NULL,
            PRIMARY KEY (run_id, part)
        )
        """,
    ),
)

ACCOUNTS = Step(
    "what judges use, their verdicts, canaries",
    (
        # money in billionths of a dollar; held is what requests under way can use at most
        """
        CREATE TABLE accounts (
            scope TEXT NOT NULL PRIMARY KEY,
            calls BIGINT NOT NULL,
            input_tokens BIGINT NOT NULL,
            output_tokens BIGINT NOT NULL,
            nanos BIGINT NOT NULL,
            held_tokens BIGINT NOT NULL,
            held_nanos BIGINT NOT NULL
        )
        """,
        """
        CREATE TABLE holds (
            id TEXT NOT NULL PRIMARY KEY,
            scopes TEXT NOT NULL,
            input_tokens BIGINT NOT NULL,
            output_tokens BIGINT NOT NULL,
            nanos BIGINT NOT NULL,
            ends_at BIGINT NOT NULL
        )
        """,
        "CREATE INDEX holds_by_end ON holds (ends_at)",
        """
        CREATE TABLE verdicts (
            id TEXT NOT NULL PRIMARY KEY,
            stored_at BIGINT NOT NULL,
            made_by TEXT NOT NULL,
            model TEXT,
            reply TEXT NOT NULL
        )
        """,
        "CREATE INDEX verdicts_by_age ON verdicts (stored_at)",
        """
        CREATE TABLE canaries (
            run_id TEXT NOT NULL REFERENCES runs (id),
            score_name TEXT NOT NULL,
            judged_at BIGINT NOT NULL,
            judge TEXT NOT NULL,
            version TEXT NOT NULL,
            shifted SMALLINT NOT NULL,
            found TEXT NOT NULL,
            PRIMARY KEY (run_id, score_name)
        )
        """,
        "CREATE INDEX canaries_by_judge ON canaries (score_name, judge, judged_at)",
    ),
)

UNSENT = Step(
    "spans that backends have not taken yet",
    (
        """
        CREATE TABLE unsent (
            backend TEXT NOT NULL,
            trace_id TEXT NOT NULL,
            span_id TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'dead')),
            since BIGINT NOT NULL,
            due BIGINT NOT NULL,
            owner TEXT,
            attempts BIGINT NOT NULL,
            error TEXT,
            rest TEXT,
            PRIMARY KEY (trace_id, span_id, backend)
        )
        """,
        """
        CREATE TABLE unsent_given_up (
            backend TEXT NOT NULL,
            why TEXT NOT NULL,
            spans BIGINT NOT NULL,
            PRIMARY KEY (backend, why)
        )
        """,
    ),
)

BATCHES = Step(
    "questions in batches of the judge's provider",
    (
        """
        CREATE TABLE batches (
            id TEXT NOT NULL PRIMARY KEY,
            run_id TEXT NOT NULL REFERENCES runs (id),
            state TEXT NOT NULL CHECK (state IN ('intended', 'submitted', 'over')),
            requests BIGINT NOT NULL,
            intended_at BIGINT NOT NULL,
            due BIGINT NOT NULL,
            tried_at BIGINT,
            looked_at BIGINT,
            cancelled_at BIGINT,
            remote_id TEXT,
            status TEXT,
            detail TEXT NOT NULL,
            answered BIGINT NOT NULL,
            failed BIGINT NOT NULL,
            ignored BIGINT NOT NULL,
            input_tokens BIGINT NOT NULL,
            output_tokens BIGINT NOT NULL
        )
        """,
        "CREATE INDEX batches_by_run ON batches (run_id)",
        """
        CREATE TABLE letters (
            batch_id TEXT NOT NULL REFERENCES batches (id),
            custom_id TEXT NOT NULL,
            run_id TEXT NOT NULL,
            question TEXT NOT NULL,
            nonce TEXT NOT NULL,
            body TEXT NOT NULL,
            hold TEXT,
            settled SMALLINT NOT NULL,
            status BIGINT,
            reply TEXT,
            PRIMARY KEY (batch_id, custom_id)
        )
        """,
        "CREATE INDEX letters_by_run ON letters (run_id, custom_id)",
    ),
)

SHARES = Step(
    "senders of a store share what judges may be asked",
    (
        """
        CREATE TABLE paces (
            judge TEXT PRIMARY KEY,
            allowed BIGINT NOT NULL,
            answers BIGINT NOT NULL,
            cut_at BIGINT NOT NULL,
            held_until BIGINT NOT NULL
        )
        """,
        """
        CREATE TABLE shares (
            judge TEXT NOT NULL,
            sender TEXT NOT NULL,
            wanted BIGINT NOT NULL,
            places BIGINT NOT NULL,
            part DOUBLE PRECISION NOT NULL,
            ends_at BIGINT NOT NULL,
            PRIMARY KEY (judge, sender)
        )
        """,
    ),
)

DUE = Step(
    "an index of what is due in the outbox, which taking and settling only append to",
    (
        # by the score's random id too, each of them would have to change pages all over it
        "DROP INDEX outbox_due",
        "CREATE INDEX outbox_due ON outbox (sink, state, next_attempt)",
    ),
)

STEPS = (
    FIRST,
    LOSSES,
    REFERENCES,
    REPLAYS,
    NIGHTS,
    READ_BACKS,
    LISTED,
    ACCOUNTS,
    UNSENT,
    BATCHES,
    SHARES,
    DUE,
)


def migrate(database: Database, now: int, steps: Sequence[Step] = STEPS) -> None:
    """Bring the database to the newest schema. Several processes may do this at once.

    ``now`` is in microseconds. Raises StoreError when the schema is newer than ``steps`` know.
    """
    found = database.read(_version)
    if found > len(steps):
        raise StoreError(
            f"the store {database.where} was written by a newer tracehooks (its schema is {found}, this one "
            f"knows up to {len(steps)}); upgrade: pip install -U tracehooks"
        )
    for number, step in enumerate(steps[found:], start=found + 1):
        _apply(database, number, step, now)


def _apply(database: Database, number: int, step: Step, now: int) -> None:
    def work(connection: Connection) -> None:
        connection.exec_driver_sql(MAKE_VERSIONS)
        if _newest(connection) >= number:
            return  # another process was quicker
        for statement in step.statements:
            connection.exec_driver_sql(statement)
        row: dict[str, Any] = {"version": number, "what": step.what, "applied_at": now}
        connection.execute(insert(VERSIONS), [row])

    database.write(Area.SCHEMA, work)


def _version(connection: Connection) -> int:
    return _newest(connection) if inspect(connection).has_table(VERSION_TABLE) else 0


def _newest(connection: Connection) -> int:
    return connection.execute(select(func.max(VERSIONS.c.version))).scalar() or 0
