-- What is served is stored ready: a profile's record, and for each user the list of their newest 15 items, each with its
-- ETag. `items` is the truth; `lists` is rewritten for the users whose items an import touched, in the same transaction.

-- The ETag of a text: 132 bits of its SHA-256 in base64url. The program computes the same (src/records/etag.ts).
CREATE FUNCTION etag_of(text) RETURNS text IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
  RETURN '"' || left(translate(encode(sha256(convert_to($1, 'UTF8')), 'base64'), '+/', '-_'), 22) || '"';

-- For `vitrine check`. A text that is no JSON makes the cast fail.
CREATE FUNCTION json_valid(record text) RETURNS boolean IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM record::json;
  RETURN true;
EXCEPTION WHEN others THEN
  RETURN false;
END $$;

-- Generated, the column is filled while the table is rewritten once; from now on imports fill it.
ALTER TABLE profiles ADD COLUMN etag text NOT NULL GENERATED ALWAYS AS (etag_of(record)) STORED;
ALTER TABLE profiles ALTER COLUMN etag DROP EXPRESSION;

CREATE TABLE lists (
  family text NOT NULL,
  user_key text COLLATE "C" NOT NULL,
  owner bigint NOT NULL,
  etag text NOT NULL,
  items text NOT NULL, -- '[{…},{…}]', newest first
  PRIMARY KEY (family, user_key),
  UNIQUE (family, owner)
);

-- Lists are read with a quarter less CPU than under PostgreSQL's own compression. Not every build has this one.
DO $$ BEGIN
  ALTER TABLE lists ALTER COLUMN items SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;

INSERT INTO lists (family, user_key, owner, etag, items)
  SELECT family, user_key, id, etag_of(items), items FROM (
    SELECT family, user_key, id, (
      SELECT '[' || coalesce(string_agg(record, ','), '') || ']' FROM (
        SELECT record FROM items WHERE items.family = profiles.family AND items.owner = profiles.id
        ORDER BY date DESC, id DESC LIMIT 15) AS newest) AS items
    FROM profiles ORDER BY family, id OFFSET 0) AS built;

-- Roles that may read the items may read the lists.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl) WHERE oid = 'items'::regclass AND privilege_type = 'SELECT'
  LOOP
    EXECUTE 'GRANT SELECT ON lists TO ' || reader;
  END LOOP;
END $$;
