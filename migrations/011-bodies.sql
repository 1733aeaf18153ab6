-- Lists are stored as they are sent, and in no other form: a body for each name that the lists of a family have. body_of() is
-- a function of the program (src/stores/sql/packing.ts).

DROP INDEX profiles_unpacked;

ALTER TABLE lists RENAME TO lists_9;

CREATE TABLE lists (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  user_key TEXT NOT NULL,
  collection TEXT NOT NULL, -- the one member of the body
  owner INTEGER NOT NULL,
  etag TEXT NOT NULL, -- of the list itself, whatever it is called
  body BLOB NOT NULL, -- '{"Shots":[{…},{…}]}', newest first; gzip if that has 1,024 bytes or more
  UNIQUE (family, user_key, collection),
  UNIQUE (family, owner, collection)
) STRICT;

INSERT INTO lists (family, user_key, collection, owner, etag, body)
  SELECT family, user_key, collection, owner, etag, body_of('{"' || collection || '":' || items || '}')
  FROM lists_9 CROSS JOIN (
    SELECT 'microblog' AS named, 'posts' AS collection UNION ALL SELECT 'portfolio', 'Shots' UNION ALL SELECT 'portfolio', 'Posts')
  WHERE named = family;

DROP TABLE lists_9;

CREATE TRIGGER list_added AFTER INSERT ON lists BEGIN
  INSERT INTO changes (family, user_key, list)
  SELECT NEW.family, NEW.user_key, generation FROM vitrine WHERE generation > 0
  ON CONFLICT DO UPDATE SET list = excluded.list;
END;

CREATE TRIGGER list_updated AFTER UPDATE OF etag ON lists WHEN OLD.etag <> NEW.etag BEGIN
  INSERT INTO changes (family, user_key, list)
  SELECT NEW.family, NEW.user_key, generation FROM vitrine WHERE generation > 0
  ON CONFLICT DO UPDATE SET list = excluded.list;
END;

CREATE TRIGGER list_removed AFTER DELETE ON lists BEGIN
  INSERT INTO changes (family, user_key, list)
  SELECT OLD.family, OLD.user_key, generation FROM vitrine WHERE generation > 0
  ON CONFLICT DO UPDATE SET list = excluded.list;
END;

-- Snapshots that forget takedowns are gone.
DROP TABLE takedowns_forgotten;
