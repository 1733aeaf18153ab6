-- What is served is stored ready: a profile's record, and for each user the list of their newest 15 items, each with its
-- ETag. `items` is the truth; `lists` is rewritten for the users whose items an import touched, in the same transaction.
-- etag_of() and user_key_of() are functions of the program: the hash of a text, and the key of a user name.

PRAGMA legacy_alter_table = ON; -- The views keep their text: the columns they read keep their names.
ALTER TABLE profiles RENAME TO profiles_2;
ALTER TABLE items RENAME TO items_2;
PRAGMA legacy_alter_table = OFF;

CREATE TABLE profiles (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL CHECK (family IN ('microblog', 'portfolio')),
  user_key TEXT NOT NULL, -- the user name, folded: two spellings of one name meet here
  id INTEGER NOT NULL CHECK (id > 0),
  etag TEXT NOT NULL,
  record TEXT NOT NULL,
  UNIQUE (family, user_key),
  UNIQUE (family, id)
) STRICT;

CREATE TABLE items (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  id INTEGER NOT NULL CHECK (id > 0),
  owner INTEGER NOT NULL, -- the id of a profile of the same family
  date TEXT NOT NULL,
  record TEXT NOT NULL
) STRICT;

CREATE TABLE lists (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  user_key TEXT NOT NULL,
  owner INTEGER NOT NULL,
  etag TEXT NOT NULL,
  items TEXT NOT NULL, -- '[{…},{…}]', newest first
  UNIQUE (family, user_key),
  UNIQUE (family, owner)
) STRICT;

INSERT INTO profiles (family, user_key, id, etag, record)
  SELECT family, user_key, id, etag_of(record), record FROM profiles_2 ORDER BY family, id;

INSERT INTO items (family, id, owner, date, record)
  SELECT items_2.family, items_2.id, profiles_2.id, items_2.record ->> 'date', items_2.record
  FROM profiles_2 CROSS JOIN items_2 ON items_2.place BETWEEN profiles_2.place << 32 AND profiles_2.place << 32 | 4294967295
  ORDER BY items_2.place;

-- Names are folded more fully than before. Where that would give two users one key, the later keeps the old one.
UPDATE OR IGNORE profiles SET user_key = user_key_of(record ->> 'username')
  WHERE user_key <> user_key_of(record ->> 'username');

DROP TABLE items_2;
DROP TABLE profiles_2;
DROP TABLE item_keys;
DROP TABLE next_places;

CREATE UNIQUE INDEX items_by_id ON items (family, id);
CREATE INDEX items_in_order ON items (family, owner, date DESC, id DESC);

INSERT INTO lists (family, user_key, owner, etag, items)
  SELECT family, user_key, id, etag_of(items), items FROM (
    SELECT family, user_key, id, (
      SELECT '[' || coalesce(string_agg(record, ','), '') || ']' FROM (
        SELECT record FROM items WHERE items.family = profiles.family AND items.owner = profiles.id
        ORDER BY date DESC, id DESC LIMIT 15)) AS items
    FROM profiles ORDER BY n LIMIT -1 OFFSET 0);
