// The tables. Steps are only added, never changed, and each one only adds: the previous binary opens the new database.

/** "agnt": marks a database of the agent. */
export const APPLICATION_ID = 0x61676e74;

/** Step n brings `user_version` from n to n + 1. New columns need a default. */
export const SCHEMA_STEPS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE document (
    source TEXT NOT NULL PRIMARY KEY,
    serial INTEGER NOT NULL,
    epoch TEXT NOT NULL,
    generation INTEGER NOT NULL,
    digest TEXT NOT NULL,
    payload BLOB NOT NULL,
    observed_generation INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE last_good (
    path TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    document INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (path, namespace, name)
  ) STRICT;

  CREATE TABLE removal (
    uid TEXT NOT NULL PRIMARY KEY,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    why TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    rank INTEGER NOT NULL,
    kind TEXT NOT NULL,
    topic TEXT NOT NULL,
    payload BLOB NOT NULL,
    qos INTEGER NOT NULL,
    retain INTEGER NOT NULL,
    content TEXT NOT NULL
  ) STRICT;
  CREATE INDEX outbox_by_rank ON outbox (rank, id);
  CREATE INDEX outbox_by_topic ON outbox (topic, id) WHERE kind <> 'event';

  CREATE TABLE published (
    topic TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    content TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE failure (
    uid TEXT NOT NULL PRIMARY KEY,
    reason TEXT NOT NULL,
    message TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // A Secret's text is sealed (secret-box), any other is plain UTF-8.
  `
  CREATE TABLE last_good_object (
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    document INTEGER NOT NULL,
    text BLOB NOT NULL,
    PRIMARY KEY (path, kind, namespace, name)
  ) STRICT;
  `,
  `
  CREATE TABLE killed (
    uid TEXT NOT NULL,
    container TEXT NOT NULL,
    id TEXT NOT NULL,
    always INTEGER NOT NULL,
    PRIMARY KEY (uid, container)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE command (
    serial INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    code INTEGER NOT NULL,
    reply_to TEXT NOT NULL,
    correlation BLOB,
    forget_at INTEGER NOT NULL
  ) STRICT;
  ALTER TABLE outbox ADD COLUMN correlation BLOB;
  ALTER TABLE outbox ADD COLUMN expires_at INTEGER;
  `,
  // A copy is sealed (secret-box), whether or not it holds a Secret.
  `
  CREATE TABLE rollout (
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (source, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE good_copy (
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    revision TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (source, name)
  ) STRICT;
  `,
  // Digests of a document that was signed, and of one whose version was forgotten (stored-document).
  `
  ALTER TABLE document ADD COLUMN signed_digest TEXT NOT NULL DEFAULT '';
  ALTER TABLE document ADD COLUMN forgotten_digest TEXT NOT NULL DEFAULT '';
  `,
  // The session in which a command arrived, and whether its id is kept as long as the session lasts.
  `
  ALTER TABLE command ADD COLUMN session INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE command ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
  `,
  // Held pods by namespace/name ("" = the whole node); `released`: the UID whose own request to hold is ignored.
  `
  CREATE TABLE hold (
    name TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    released TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // The document that this one replaced before it had converged (stored-document).
  `
  ALTER TABLE document ADD COLUMN superseded TEXT NOT NULL DEFAULT '';
  `,
  // What has run of a Job or a CronJob, by "Job namespace/name"; `state` is JSON.
  `
  CREATE TABLE run (
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (source, name)
  ) STRICT;
  `,
  // Images that this agent brought (brought-images).
  `
  CREATE TABLE image (
    id TEXT NOT NULL PRIMARY KEY,
    names TEXT NOT NULL,
    digests TEXT NOT NULL,
    origin TEXT NOT NULL,
    idle INTEGER NOT NULL,
    boot TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // Pods that were evicted and wait (evictions).
  `
  CREATE TABLE eviction (
    uid TEXT NOT NULL PRIMARY KEY,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    message TEXT NOT NULL,
    condition TEXT NOT NULL,
    grace INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
];

/** Tables of the first step; a database without one of them is unusable. */
export const TABLES: readonly string[] = [
  "meta",
  "document",
  "last_good",
  "removal",
  "outbox",
  "published",
];
