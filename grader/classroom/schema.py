"""The tables of the gradebook, and how an older one becomes a newer one."""

from __future__ import annotations

APPLICATION_ID = 0x7A6F6F67  # "zoog", in the header of the file

_FIRST = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE students (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,           -- what identifies the student here
    name TEXT NOT NULL DEFAULT '',
    email TEXT NOT NULL DEFAULT '',
    section TEXT NOT NULL DEFAULT '',
    ids TEXT NOT NULL DEFAULT '{}',     -- JSON: canvas, moodle, gradescope, github, login, sis
    in_roster INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE sources (sha256 TEXT PRIMARY KEY, bytes INTEGER NOT NULL, content BLOB) WITHOUT ROWID;
CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    student INTEGER NOT NULL REFERENCES students (id),
    exercise TEXT NOT NULL,
    sha256 TEXT NOT NULL REFERENCES sources (sha256),
    path TEXT NOT NULL,                 -- in the folder of submissions
    layout TEXT NOT NULL,
    submitted_at REAL,                  -- seconds since 1970, UTC; NULL: unknown
    time_source TEXT NOT NULL DEFAULT '',
    marked_late INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL,           -- 1, 2, ... in the order of time
    commit_id TEXT NOT NULL DEFAULT '',
    found_at REAL NOT NULL,
    UNIQUE (student, exercise, path, sha256)
);
CREATE TABLE gradings (
    id INTEGER PRIMARY KEY,
    exercise TEXT NOT NULL,
    sha256 TEXT NOT NULL REFERENCES sources (sha256),
    grader TEXT NOT NULL,               -- version and fingerprint
    torch TEXT NOT NULL,
    device TEXT NOT NULL,
    sandbox TEXT NOT NULL,
    seed INTEGER NOT NULL,
    selection TEXT NOT NULL,            -- the categories of tests that ran, and "strict"
    state TEXT NOT NULL,                -- graded, unloadable, refused, stopped, broken
    reason TEXT NOT NULL DEFAULT '',
    points REAL,                        -- NULL where the state says nothing about the file
    max_points REAL,
    passed INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 1,
    graded_at REAL NOT NULL,
    duration_s REAL NOT NULL DEFAULT 0,
    cpu_s REAL NOT NULL DEFAULT 0,
    report BLOB                         -- the whole grade: JSON, compressed by zlib
);
CREATE INDEX gradings_by_file ON gradings (exercise, sha256, id);
CREATE TABLE results (
    grading INTEGER NOT NULL REFERENCES gradings (id),
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    category TEXT NOT NULL,
    status TEXT NOT NULL,
    points REAL NOT NULL,
    max_points REAL NOT NULL,
    message TEXT NOT NULL,
    duration_s REAL NOT NULL,
    PRIMARY KEY (grading, place)
) WITHOUT ROWID;
CREATE TABLE diagnoses (
    grading INTEGER NOT NULL REFERENCES gradings (id),
    place INTEGER NOT NULL,
    test TEXT NOT NULL,
    mistake TEXT NOT NULL,
    text TEXT NOT NULL,
    hint TEXT NOT NULL DEFAULT '',
    line INTEGER,                       -- of the file; NULL: not known
    PRIMARY KEY (grading, place)
) WITHOUT ROWID;
CREATE TABLE overrides (
    id INTEGER PRIMARY KEY,
    student INTEGER NOT NULL REFERENCES students (id),
    exercise TEXT NOT NULL,
    points REAL,                        -- NULL: take an earlier override back
    reason TEXT NOT NULL,
    who TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE late_rules (
    exercise TEXT PRIMARY KEY,          -- '': every exercise that has no rule of its own
    due REAL,
    rule TEXT NOT NULL,
    options TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;
CREATE TABLE finals (
    student INTEGER NOT NULL REFERENCES students (id),
    exercise TEXT NOT NULL,
    submission INTEGER REFERENCES submissions (id),
    grading INTEGER REFERENCES gradings (id),
    state TEXT NOT NULL,
    raw REAL,
    penalty REAL NOT NULL DEFAULT 0,
    points REAL,                        -- NULL: needs a person
    max_points REAL,
    late_s REAL NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (student, exercise)
) WITHOUT ROWID;
CREATE TABLE unplaced (path TEXT PRIMARY KEY, reason TEXT NOT NULL, found_at REAL NOT NULL) WITHOUT ROWID;
"""

MIGRATIONS = (_FIRST,)
"""Each takes a gradebook from version i to i + 1; the version is SQLite's `user_version`."""
