"""The steps of the schema from the eighth on. One that is released is never changed; a new one comes last."""

from tracehooks.store.step import Step

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
