"""The first step of the schema: spans, calls, runs, scores and the outbox. Released, so never changed."""

from tracehooks.store.step import Step

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
