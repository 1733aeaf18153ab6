-- Whose profile or list changed, for caches and others that are told (src/stores/sql/changes.ts). Triggers record it, so that no
-- way of writing can forget it. Each number is the generation that the last change replaced: whoever knows the data as of
-- generation G needs the rows with G or more.

CREATE TABLE changes (
  family text NOT NULL,
  user_key text COLLATE "C" NOT NULL,
  profile bigint, -- NULL if only the list changed
  list bigint,
  items bigint, -- any item, also one that is too old for the list
  username text, -- as it was imported, before the profile changed
  PRIMARY KEY (family, user_key)
);

-- Earlier generations since which all changes are known. A generation of another database is not among them.
CREATE TABLE generations (
  generation bigint PRIMARY KEY
);

-- Who is told of changes, and up to which generation they were.
CREATE TABLE subscribers (
  name text PRIMARY KEY,
  generation bigint NOT NULL
);

-- After a takedown: the generation that everybody must have been told of before the names in `changes` are erased.
ALTER TABLE vitrine ADD COLUMN erase_before bigint;

-- The first import records nothing: nobody knows an earlier generation. A name that begins with a tab is nobody's: users who
-- swap names have one for a moment.

CREATE FUNCTION record_profile_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.user_key NOT LIKE E'\t%' THEN
    INSERT INTO changes (family, user_key, profile, username)
    SELECT OLD.family, OLD.user_key, generation, members(OLD.record) ->> 'username' FROM vitrine WHERE generation > 0
    ON CONFLICT (family, user_key) DO UPDATE SET profile = excluded.profile, username = excluded.username;
  END IF;
  IF TG_OP = 'INSERT' OR (TG_OP = 'UPDATE' AND NEW.user_key <> OLD.user_key AND NEW.user_key NOT LIKE E'\t%') THEN
    INSERT INTO changes (family, user_key, profile)
    SELECT NEW.family, NEW.user_key, generation FROM vitrine WHERE generation > 0
    ON CONFLICT (family, user_key) DO UPDATE SET profile = excluded.profile;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER profile_changed AFTER INSERT OR DELETE ON profiles
  FOR EACH ROW EXECUTE FUNCTION record_profile_change();
CREATE TRIGGER profile_updated AFTER UPDATE OF etag, user_key ON profiles
  FOR EACH ROW WHEN (OLD.etag <> NEW.etag OR OLD.user_key <> NEW.user_key) EXECUTE FUNCTION record_profile_change();

CREATE FUNCTION record_list_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO changes (family, user_key, list)
  SELECT coalesce(NEW.family, OLD.family), coalesce(NEW.user_key, OLD.user_key), generation
  FROM vitrine WHERE generation > 0
  ON CONFLICT (family, user_key) DO UPDATE SET list = excluded.list;
  RETURN NULL;
END $$;

CREATE TRIGGER list_changed AFTER INSERT OR DELETE ON lists
  FOR EACH ROW EXECUTE FUNCTION record_list_change();
CREATE TRIGGER list_updated AFTER UPDATE OF etag ON lists
  FOR EACH ROW WHEN (OLD.etag <> NEW.etag) EXECUTE FUNCTION record_list_change();

-- Roles that may read the items may read the changes.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl) WHERE oid = 'items'::regclass AND privilege_type = 'SELECT'
  LOOP
    EXECUTE 'GRANT SELECT ON changes, generations TO ' || reader;
  END LOOP;
END $$;
