-- Rows found by one integer lie in a flat tree, whose inner pages fit into a cache however large the database grows:
-- rows found by a longer key stand, whole, in the inner pages too. So a profile has a place, and its items lie behind
-- it, newest first, at place << 32 | slot. Places below 1 << 30 are the microblog's, the others the portfolio's. Slots
-- are given with gaps, so that an item that comes late finds its own between two others.

PRAGMA legacy_alter_table = ON; -- The views stay as they are: what they show has kept its names.
ALTER TABLE profiles RENAME TO profiles_1;
ALTER TABLE items RENAME TO items_1;
PRAGMA legacy_alter_table = OFF;

CREATE TABLE profiles (
  family TEXT NOT NULL CHECK (family IN ('microblog', 'portfolio')),
  user_key TEXT NOT NULL,
  id INTEGER NOT NULL CHECK (id > 0),
  place INTEGER NOT NULL CHECK (place BETWEEN 1 AND 2147483647 AND (place < 1073741824) = (family = 'microblog')),
  record TEXT NOT NULL,
  PRIMARY KEY (family, user_key),
  UNIQUE (family, id)
) STRICT, WITHOUT ROWID;

-- The way to a user's items, past the profiles themselves.
CREATE INDEX places ON profiles (family, user_key, place);

-- A place is never given twice.
CREATE TABLE next_places (
  family TEXT PRIMARY KEY,
  place INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE items (
  place INTEGER PRIMARY KEY,
  family TEXT NOT NULL AS (CASE WHEN place < 4611686018427387904 THEN 'microblog' ELSE 'portfolio' END),
  date INTEGER NOT NULL, -- its digits: 20240131235959
  id INTEGER NOT NULL CHECK (id > 0),
  record TEXT NOT NULL
) STRICT;

INSERT INTO profiles (family, user_key, id, place, record)
  SELECT family, user_key, id,
    CASE family WHEN 'microblog' THEN 0 ELSE 1073741823 END + row_number() OVER (PARTITION BY family ORDER BY id),
    record
  FROM profiles_1 ORDER BY family, user_key;

INSERT INTO next_places
  SELECT column1, coalesce((SELECT max(place) + 1 FROM profiles WHERE family = column1), column2)
  FROM (VALUES ('microblog', 1), ('portfolio', 1073741824));

INSERT INTO items (place, date, id, record)
  SELECT place << 32 | (2147483648 + nth * min(64, 2147483647 / count)), date, id, record FROM (
    SELECT profiles.place, items_1.date, items_1.id, items_1.record,
      row_number() OVER (PARTITION BY items_1.family, owner ORDER BY date DESC, items_1.id DESC) AS nth,
      count(*) OVER (PARTITION BY items_1.family, owner) AS count
    FROM items_1 JOIN profiles ON profiles.family = items_1.family AND profiles.id = owner)
  ORDER BY place, nth;

DROP TABLE items_1;
DROP TABLE profiles_1;
