-- Whose profile or list changed, for caches and others that are told (src/stores/sql/changes.ts). Triggers record it, so that no
-- way of writing can forget it. Each number is the generation that the last change replaced: whoever knows the data as of
-- generation G needs the rows with G or more.

CREATE TABLE changes (
  family TEXT NOT NULL,
  user_key TEXT NOT NULL,
  profile INTEGER, -- NULL if only the list changed
  list INTEGER,
  items INTEGER, -- any item, also one that is too old for the list
  username TEXT, -- as it was imported, before the profile changed
  PRIMARY KEY (family, user_key)
) STRICT, WITHOUT ROWID;

-- Earlier generations since which all changes are known. A generation of another database is not among them.
CREATE TABLE generations (
  generation INTEGER PRIMARY KEY
) STRICT;

-- Who is told of changes, and up to which generation they were.
CREATE TABLE subscribers (
  name TEXT PRIMARY KEY,
  generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- After a takedown: the generation that everybody must have been told of before the names in `changes` are erased.
ALTER TABLE vitrine ADD COLUMN erase_before INTEGER;

-- The first import records nothing: nobody knows an earlier generation. A name that begins with a tab is nobody's: users who
-- swap names have one for a moment.

CREATE TRIGGER profile_added AFTER INSERT ON profiles BEGIN
  INSERT INTO changes (family, user_key, profile)
  SELECT NEW.family, NEW.user_key, generation FROM vitrine WHERE generation > 0
  ON CONFLICT DO UPDATE SET profile = excluded.profile;
END;

CREATE TRIGGER profile_updated AFTER UPDATE OF etag, user_key ON profiles
WHEN OLD.etag <> NEW.etag OR OLD.user_key <> NEW.user_key BEGIN
  INSERT INTO changes (family, user_key, profile, username)
  SELECT OLD.family, OLD.user_key, generation, OLD.record ->> 'username' FROM vitrine
  WHERE generation > 0 AND OLD.user_key NOT LIKE char(9) || '%'
  ON CONFLICT DO UPDATE SET profile = excluded.profile, username = excluded.username;
  INSERT INTO changes (family, user_key, profile)
  SELECT NEW.family, NEW.user_key, generation FROM vitrine
  WHERE generation > 0 AND NEW.user_key <> OLD.user_key AND NEW.user_key NOT LIKE char(9) || '%'
  ON CONFLICT DO UPDATE SET profile = excluded.profile;
END;

CREATE TRIGGER profile_removed AFTER DELETE ON profiles BEGIN
  INSERT INTO changes (family, user_key, profile, username)
  SELECT OLD.family, OLD.user_key, generation, OLD.record ->> 'username' FROM vitrine WHERE generation > 0
  ON CONFLICT DO UPDATE SET profile = excluded.profile, username = excluded.username;
END;

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
