-- Who names which picture, so that what a takedown leaves without a record is found without reading all records
-- (src/stores/sql/media-names.ts). It takes the place of a list of what may be unnamed.

DROP FUNCTION doubt_media CASCADE;
DROP TABLE media_doubts;

-- The addresses in records. Triggers remove what a record names no more. What a new or changed record names is filed later.
CREATE TABLE media_names (
  url text COLLATE "C" NOT NULL,
  family text NOT NULL,
  id bigint NOT NULL, -- of the user
  is_file integer NOT NULL, -- 1: an attachment or audio, which only --files fetches
  PRIMARY KEY (url, family, id, is_file)
);

-- `unnamed_since` says from here on since when perhaps no record names an address.
CREATE INDEX media_unnamed ON media (url) WHERE unnamed_since IS NOT NULL;
CREATE INDEX media_failed ON media (url) WHERE coalesce(file, refused) IS NULL;

-- Once a second, however many users drop the address. Each update leaves an old row, which the next one reads.
CREATE FUNCTION doubt_media() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  now_seconds bigint := floor(extract(epoch FROM clock_timestamp()));
BEGIN
  UPDATE media SET unnamed_since = now_seconds WHERE url = OLD.url AND unnamed_since IS DISTINCT FROM now_seconds;
  RETURN NULL;
END $$;
CREATE TRIGGER name_gone AFTER DELETE ON media_names FOR EACH ROW EXECUTE FUNCTION doubt_media();

-- Of a record that is deleted, NEW is null. `media` is asked first. An import may delete
-- most rows of media_names, and each later question would read them again.
CREATE FUNCTION forget_names_of_profile() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM media) OR EXISTS (SELECT FROM media_names) THEN
    DELETE FROM media_names WHERE family = OLD.family AND id = OLD.id AND url = ANY (ARRAY(
      SELECT value FROM (
        SELECT key, value FROM json_each_text(members(OLD.record))
        EXCEPT SELECT key, value FROM json_each_text(members(NEW.record))) AS dropped));
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION forget_names_of_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM media) OR EXISTS (SELECT FROM media_names) THEN
    DELETE FROM media_names WHERE family = OLD.family AND id = OLD.owner AND url = ANY (ARRAY(
      SELECT value FROM (
        SELECT key, value FROM json_each_text(members(OLD.record))
        EXCEPT SELECT key, value FROM json_each_text(members(NEW.record)) WHERE NEW.owner = OLD.owner) AS dropped));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER profile_unnamed AFTER UPDATE OF record ON profiles
  FOR EACH ROW WHEN (OLD.record <> NEW.record) EXECUTE FUNCTION forget_names_of_profile();
CREATE TRIGGER profile_gone AFTER DELETE ON profiles FOR EACH ROW EXECUTE FUNCTION forget_names_of_profile();
CREATE TRIGGER item_unnamed AFTER UPDATE OF record ON items
  FOR EACH ROW WHEN (OLD.record <> NEW.record) EXECUTE FUNCTION forget_names_of_item();
CREATE TRIGGER item_gone AFTER DELETE ON items FOR EACH ROW EXECUTE FUNCTION forget_names_of_item();

-- Another address of the same copy changes no answer, and is a change all the same.
CREATE FUNCTION note_other_names() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO changes (family, user_key, items)
  SELECT NEW.family, NEW.user_key, generation FROM vitrine WHERE generation > 0 AND NEW.user_key NOT LIKE E'\t%'
  ON CONFLICT (family, user_key) DO UPDATE SET items = excluded.items;
  RETURN NULL;
END $$;
CREATE TRIGGER profile_names_other AFTER UPDATE OF record ON profiles
  FOR EACH ROW WHEN (OLD.record <> NEW.record AND OLD.etag = NEW.etag) EXECUTE FUNCTION note_other_names();

-- Roles that may read the items may read this.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl) WHERE oid = 'items'::regclass AND privilege_type = 'SELECT'
  LOOP
    EXECUTE 'GRANT SELECT ON media_names TO ' || reader;
  END LOOP;
END $$;
