-- What was taken down, so that no import brings it back: salted hashes of names and ids, and nothing that can be read.
-- takedown_hash() is a function of the program.

CREATE TABLE takedown_salts (
  salt TEXT PRIMARY KEY -- one of this database; others came with the takedowns of other databases
) STRICT, WITHOUT ROWID;

CREATE TABLE takedowns (
  hash TEXT NOT NULL, -- of a user's name, of a user's id, or of an item's id
  entry TEXT NOT NULL, -- of a user: the hash of the name; of an item: its hash
  family TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('user', 'item')),
  since TEXT NOT NULL, -- the day
  PRIMARY KEY (hash, entry)
) STRICT, WITHOUT ROWID;

-- A row says that this file may be served in the place of one with more takedowns.
CREATE TABLE takedowns_forgotten (
  one INTEGER PRIMARY KEY CHECK (one = 1)
) STRICT;
