"""The steps of the schema that nights and replays came with. Released, so never changed."""

from tracehooks.store.step import Step

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
