"""The tables of the session memory, version by version.

Idea: a new version only adds, so that what an older copy of the hooks wrote stays as it is; docs/memory-schema.md says
what the tables mean.
Checked in tests/hooks/test_memory_db.py.
"""

from __future__ import annotations

VERSION = 2

SCHEMA = """
CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY,
  project_path TEXT NOT NULL,
  started_at TEXT NOT NULL DEFAULT (datetime('now')),
  last_active TEXT NOT NULL DEFAULT (datetime('now')),
  total_turns INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'active',            -- active | compacted | closed
  compactions INTEGER NOT NULL DEFAULT 0,
  transcript_path TEXT,
  read_offset INTEGER NOT NULL DEFAULT 0,           -- start of the newest turn read from the transcript
  read_size INTEGER NOT NULL DEFAULT 0,             -- up to where the transcript was read
  watch_offset INTEGER,                             -- up to where it was watched for compactions
  boundary_offset INTEGER,                          -- a compaction whose delivery is not settled yet
  boundaries TEXT,                                  -- uuids of the compactions seen
  context_tokens INTEGER,
  real_tokens INTEGER NOT NULL DEFAULT 0,           -- growth as the API reported it ...
  estimated_tokens INTEGER NOT NULL DEFAULT 0,      -- ... and as the estimator saw it
  model TEXT,
  client_version TEXT,
  notice_sent INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE turns (
  session_id TEXT NOT NULL REFERENCES sessions(session_id),
  turn_number INTEGER NOT NULL,
  prompt_id TEXT,
  uuid TEXT,                                        -- of the transcript line; NULL while only the event is known
  state TEXT NOT NULL DEFAULT 'open',               -- open | complete | interrupted
  started_at TEXT,
  ended_at TEXT,
  start_offset INTEGER,
  end_offset INTEGER,
  items INTEGER NOT NULL DEFAULT 0,                 -- texts of the model and calls seen so far
  raw_tokens INTEGER,                               -- what the turn put into the context, estimated
  PRIMARY KEY (session_id, turn_number)
);
CREATE UNIQUE INDEX idx_turns_prompt ON turns(session_id, prompt_id) WHERE prompt_id IS NOT NULL;
CREATE UNIQUE INDEX idx_turns_uuid ON turns(session_id, uuid) WHERE uuid IS NOT NULL;
CREATE TABLE skeletons (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(session_id),
  turn_number INTEGER NOT NULL,
  role TEXT NOT NULL,
  summary TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  UNIQUE (session_id, turn_number, role)
);
CREATE TABLE judgments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(session_id),
  turn_number INTEGER NOT NULL,
  category TEXT NOT NULL,                           -- DECISION | CONSTRAINT | CONTEXT | IMPL | ISSUE
  content TEXT NOT NULL,
  resolved INTEGER NOT NULL DEFAULT 0,
  resolved_at TEXT,
  resolved_turn INTEGER,
  resolved_by TEXT,                                 -- text | command | model | user
  confidence REAL,
  command TEXT,                                     -- of an ISSUE: the command that failed
  content_hash TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  UNIQUE (session_id, content_hash)
);
CREATE INDEX idx_judgments_session_cat ON judgments(session_id, category);
CREATE INDEX idx_judgments_unresolved ON judgments(session_id, resolved) WHERE resolved = 0;
CREATE TABLE details (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(session_id),
  turn_number INTEGER NOT NULL,
  kind TEXT NOT NULL DEFAULT 'tool',                -- tool | user | assistant | agent
  source_id TEXT NOT NULL,                          -- the tool-use id, or role and place within the turn
  tool_name TEXT,
  input_text TEXT,
  output_text TEXT,                                 -- the first 64 KB; all of it in output_packed where there is more
  exit_code INTEGER,
  token_count INTEGER,
  status TEXT NOT NULL DEFAULT 'ok',                -- ok | failed | rejected | pending
  agent_id TEXT,                                    -- set for calls of a sub-agent
  input_packed BLOB,
  output_packed BLOB,
  output_size INTEGER,                              -- in bytes of UTF-8
  rank INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  UNIQUE (session_id, source_id)
);
CREATE INDEX idx_details_session_turn ON details(session_id, turn_number);
CREATE TABLE injection_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(session_id),
  event_type TEXT NOT NULL,                         -- pre_compact | context_compaction | post_compact | on_demand
                                                    -- | fallback
  layers_sent TEXT NOT NULL,
  token_before INTEGER,
  token_after INTEGER,
  injected_at TEXT NOT NULL DEFAULT (datetime('now')),
  block_id TEXT,
  part INTEGER,
  parts INTEGER,
  units INTEGER,
  trigger TEXT,
  delivered INTEGER,                                -- by the transcript: 1 yes, 0 no, NULL not known
  note TEXT
);
CREATE INDEX idx_injection_session ON injection_log(session_id, id);
CREATE TABLE pending (
  block_id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions(session_id),
  created_at REAL NOT NULL,
  trigger TEXT,
  turns INTEGER NOT NULL,                           -- how many turns there were: a later block is built anew
  status TEXT NOT NULL DEFAULT 'pending',           -- pending | sent | delivered | missed | superseded
  sent_at REAL
);
CREATE INDEX idx_pending_session ON pending(session_id, status);
CREATE TABLE pending_parts (
  block_id TEXT NOT NULL REFERENCES pending(block_id),
  part INTEGER NOT NULL,
  text TEXT NOT NULL,
  sent INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (block_id, part)
);
CREATE TABLE classifier_stats (
  session_id TEXT NOT NULL REFERENCES sessions(session_id),
  category TEXT NOT NULL,
  stored INTEGER NOT NULL DEFAULT 0,
  repeated INTEGER NOT NULL DEFAULT 0,
  resolved_by_text INTEGER NOT NULL DEFAULT 0,
  resolved_by_user INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (session_id, category)
);
CREATE TABLE hook_runs (event TEXT PRIMARY KEY, last_at TEXT NOT NULL, runs INTEGER NOT NULL DEFAULT 1);
"""
# A copy of the text would double the file, so the index reads the rows themselves.
SEARCH_SCHEMA = """
CREATE VIRTUAL TABLE details_fts USING fts5(input_text, output_text, content='details', content_rowid='id');
CREATE TRIGGER details_fts_insert AFTER INSERT ON details BEGIN
  INSERT INTO details_fts(rowid, input_text, output_text) VALUES (new.id, new.input_text, new.output_text); END;
CREATE TRIGGER details_fts_delete AFTER DELETE ON details BEGIN
  INSERT INTO details_fts(details_fts, rowid, input_text, output_text)
  VALUES ('delete', old.id, old.input_text, old.output_text); END;
CREATE TRIGGER details_fts_update AFTER UPDATE OF input_text, output_text ON details BEGIN
  INSERT INTO details_fts(details_fts, rowid, input_text, output_text)
  VALUES ('delete', old.id, old.input_text, old.output_text);
  INSERT INTO details_fts(rowid, input_text, output_text) VALUES (new.id, new.input_text, new.output_text); END;
"""
MODEL_SCHEMA = """
ALTER TABLE judgments ADD COLUMN source TEXT NOT NULL DEFAULT 'rule';  -- rule | tool | model: who found it
ALTER TABLE turns ADD COLUMN model_items INTEGER;                      -- `items` when a model last judged the turn
CREATE TABLE model_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(session_id),
  at TEXT NOT NULL DEFAULT (datetime('now')),
  model TEXT NOT NULL,
  first_turn INTEGER NOT NULL,
  last_turn INTEGER NOT NULL,
  sentences INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_usd REAL,                                    -- as the client reports it; NULL where it does not
  seconds REAL NOT NULL,
  outcome TEXT NOT NULL                             -- asked | judged | what went wrong
);
CREATE INDEX idx_model_requests_session ON model_requests(session_id);
UPDATE judgments SET source = 'tool' WHERE command IS NOT NULL;
"""
MIGRATIONS = {1: (SCHEMA, SEARCH_SCHEMA), 2: (MODEL_SCHEMA,)}  # version reached -> statements
