BEGIN TRANSACTION;
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
        );
INSERT INTO "calls" VALUES('00000000000000000000000000000001','0000000000000001',1796004001000000,1796004003000000,'support','default',NULL,NULL,'shop',NULL,0,'tracehooks.output',1796004000000000,'[]','{}',NULL,'where is my order?','answer 1');
INSERT INTO "calls" VALUES('00000000000000000000000000000002','0000000000000002',1796004002000000,1796004004000000,'support','default',NULL,NULL,'shop',NULL,0,'tracehooks.output',1796004000000000,'[]','{}',NULL,'where is my order?','answer 2');
CREATE TABLE decisions (
            run_id TEXT NOT NULL REFERENCES runs (id),
            trace_id TEXT NOT NULL,
            span_id TEXT NOT NULL,
            decision TEXT NOT NULL,
            reason TEXT NOT NULL,
            PRIMARY KEY (run_id, trace_id, span_id)
        );
INSERT INTO "decisions" VALUES('8997bb3f61a07612','00000000000000000000000000000003','0000000000000003','sampled_out','not drawn');
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
        );
INSERT INTO "items" VALUES('8997bb3f61a07612','00000000000000000000000000000001','0000000000000001','toxicity',1.0,'','done','scored',NULL,1,1,NULL,NULL);
INSERT INTO "items" VALUES('8997bb3f61a07612','00000000000000000000000000000002','0000000000000002','toxicity',1.0,'','claimed',NULL,NULL,1,1,'host:1:1',1796000400000001);
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
        );
INSERT INTO "outbox" VALUES('jsonl','6da80288413f9bde30c2d5bdad19e71b',2,'pending',0,1796002200000000,NULL,NULL,1796002200000000);
CREATE TABLE resources (id TEXT NOT NULL PRIMARY KEY, attributes TEXT NOT NULL);
INSERT INTO "resources" VALUES('dce605c0911ab9e548bbd4fff5d9d0b5','{"service.name":"shop"}');
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
        );
INSERT INTO "runs" VALUES('8997bb3f61a07612','toxicity',1796004000000000,1796007600000000,'finished','fail','["rate"]','{"size":2}','{"planned":2}','{"mean":0.75}',1796004000000000,1796004000000000,'host:1:1');
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
        );
INSERT INTO "score_history" VALUES('6da80288413f9bde30c2d5bdad19e71b',1,'scored','NUMERIC',0.25,NULL,NULL,1,'','8997bb3f61a07612',NULL,1796004000000000,'job','mild','{}');
INSERT INTO "score_history" VALUES('6da80288413f9bde30c2d5bdad19e71b',2,'scored','NUMERIC',0.75,NULL,NULL,2,'v2','8997bb3f61a07612',NULL,1796002200000000,'job','','{}');
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
        );
INSERT INTO "scores" VALUES('6da80288413f9bde30c2d5bdad19e71b','shop','toxicity','00000000000000000000000000000001','0000000000000001','scored','NUMERIC',0.75,NULL,NULL,2,2,'v2','8997bb3f61a07612',NULL,1796004001000000,'support','default',1796002200000000,'job','','{"end":1796004003000000,"tags":[],"metadata":{},"session_id":null,"user_id":null,"service":"shop","version":null,"error":null,"truncated":false,"text_source":"tracehooks.output"}','{}');
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
        );
INSERT INTO "spans" VALUES('00000000000000000000000000000001','0000000000000001',NULL,'support','tracehooks',1796004001000000000,1796004003000000000,'unset',NULL,1,1796004000000000,'dce605c0911ab9e548bbd4fff5d9d0b5','[]','{"tracehooks.kind":"agent","gen_ai.agent.name":"support","tracehooks.input":"{\"question\":\"where is my order?\"}","tracehooks.output":"\"answer 1\""}');
INSERT INTO "spans" VALUES('00000000000000000000000000000001','000000000000000b','0000000000000001','support','tracehooks',1796004011000000000,1796004013000000000,'unset',NULL,0,1796004000000000,'dce605c0911ab9e548bbd4fff5d9d0b5','[]','{"tracehooks.kind":"tool","gen_ai.agent.name":"support","tracehooks.input":"{\"question\":\"where is my order?\"}","tracehooks.output":"\"answer 11\""}');
INSERT INTO "spans" VALUES('00000000000000000000000000000002','0000000000000002',NULL,'support','tracehooks',1796004002000000000,1796004004000000000,'unset',NULL,1,1796004000000000,'dce605c0911ab9e548bbd4fff5d9d0b5','[]','{"tracehooks.kind":"agent","gen_ai.agent.name":"support","tracehooks.input":"{\"question\":\"where is my order?\"}","tracehooks.output":"\"answer 2\""}');
CREATE TABLE tracehooks_schema (version BIGINT NOT NULL PRIMARY KEY, what TEXT NOT NULL, applied_at BIGINT NOT NULL);
INSERT INTO "tracehooks_schema" VALUES(1,'spans, calls, runs, decisions, work items, scores, outbox',1796004000000000);
CREATE INDEX spans_by_end ON spans (end_ns, trace_id);
CREATE INDEX calls_by_start ON calls (start, trace_id, span_id);
CREATE INDEX runs_by_start ON runs (started, id);
CREATE INDEX decisions_by_trace ON decisions (trace_id);
CREATE INDEX items_claimable ON items (run_id, claimable_at, trace_id, span_id, score_name);
CREATE INDEX items_by_state ON items (run_id, state, status, reason_code);
CREATE INDEX items_by_trace ON items (trace_id);
CREATE INDEX scores_by_trace ON scores (trace_id);
CREATE INDEX scores_by_start ON scores (call_start, id);
CREATE INDEX scores_by_name ON scores (name, call_start, id);
CREATE INDEX scores_by_status ON scores (name, status, call_start, id);
CREATE INDEX outbox_due ON outbox (sink, state, next_attempt, score_id);
COMMIT;
