-- Who names which picture, so that what a takedown leaves without a record is found without reading all records
-- (src/stores/sql/media-names.ts). It takes the place of a list of what may be unnamed.

DROP TRIGGER profile_unnamed;
DROP TRIGGER profile_gone;
DROP TRIGGER item_unnamed;
DROP TRIGGER item_gone;
DROP TABLE media_doubts;

-- The addresses in records. Triggers remove what a record names no more. What a new or changed record names is filed later.
CREATE TABLE media_names (
  url TEXT NOT NULL,
  family TEXT NOT NULL,
  id INTEGER NOT NULL, -- of the user
  is_file INTEGER NOT NULL, -- 1: an attachment or audio, which only --files fetches
  PRIMARY KEY (url, family, id, is_file)
) STRICT, WITHOUT ROWID;

-- `unnamed_since` says from here on since when perhaps no record names an address.
CREATE INDEX media_unnamed ON media (url) WHERE unnamed_since IS NOT NULL;
CREATE INDEX media_failed ON media (url) WHERE coalesce(file, refused) IS NULL;

CREATE TRIGGER name_gone AFTER DELETE ON media_names BEGIN
  UPDATE media SET unnamed_since = unixepoch() WHERE url = OLD.url;
END;

CREATE TRIGGER profile_unnamed AFTER UPDATE OF record ON profiles
WHEN OLD.record <> NEW.record AND EXISTS (SELECT 1 FROM media_names) BEGIN
  DELETE FROM media_names WHERE family = OLD.family AND id = OLD.id AND url IN (
    SELECT value FROM (
      SELECT key, value FROM json_each(CASE WHEN json_valid(OLD.record) THEN OLD.record ELSE '{}' END)
      EXCEPT SELECT key, value FROM json_each(CASE WHEN json_valid(NEW.record) THEN NEW.record ELSE '{}' END)));
END;
CREATE TRIGGER profile_gone AFTER DELETE ON profiles WHEN EXISTS (SELECT 1 FROM media_names) BEGIN
  DELETE FROM media_names WHERE family = OLD.family AND id = OLD.id AND url IN (
    SELECT value FROM json_each(CASE WHEN json_valid(OLD.record) THEN OLD.record ELSE '{}' END));
END;
CREATE TRIGGER item_unnamed AFTER UPDATE OF record ON items
WHEN OLD.record <> NEW.record AND EXISTS (SELECT 1 FROM media_names) BEGIN
  DELETE FROM media_names WHERE family = OLD.family AND id = OLD.owner AND url IN (
    SELECT value FROM (
      SELECT key, value FROM json_each(CASE WHEN json_valid(OLD.record) THEN OLD.record ELSE '{}' END)
      EXCEPT SELECT key, value FROM json_each(CASE WHEN json_valid(NEW.record) THEN NEW.record ELSE '{}' END)
      WHERE NEW.owner = OLD.owner));
END;
CREATE TRIGGER item_gone AFTER DELETE ON items WHEN EXISTS (SELECT 1 FROM media_names) BEGIN
  DELETE FROM media_names WHERE family = OLD.family AND id = OLD.owner AND url IN (
    SELECT value FROM json_each(CASE WHEN json_valid(OLD.record) THEN OLD.record ELSE '{}' END));
END;

-- Another address of the same copy changes no answer, and is a change all the same.
CREATE TRIGGER profile_names_other AFTER UPDATE OF record ON profiles
WHEN OLD.record <> NEW.record AND OLD.etag = NEW.etag BEGIN
  INSERT INTO changes (family, user_key, items)
  SELECT NEW.family, NEW.user_key, generation FROM vitrine
  WHERE generation > 0 AND NEW.user_key NOT LIKE char(9) || '%'
  ON CONFLICT DO UPDATE SET items = excluded.items;
END;
