-- What was taken down, so that no import brings it back: salted hashes of names and ids, and nothing that can be read.

-- The program computes the same (src/stores/sql/takedowns.ts).
CREATE FUNCTION takedown_hash(salt text, family text, what text, value text) RETURNS text
  IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
  RETURN encode(sha256(convert_to(salt || ' ' || family || ' ' || what || ' ' || value, 'UTF8')), 'hex');

CREATE TABLE takedown_salts (
  salt text PRIMARY KEY -- one of this database; others came with the takedowns of other databases
);

CREATE TABLE takedowns (
  hash text COLLATE "C" NOT NULL, -- of a user's name, of a user's id, or of an item's id
  entry text COLLATE "C" NOT NULL, -- of a user: the hash of the name; of an item: its hash
  family text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('user', 'item')),
  since text NOT NULL, -- the day
  PRIMARY KEY (hash, entry)
);

-- Roles that may read the items may read the takedowns.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl) WHERE oid = 'items'::regclass AND privilege_type = 'SELECT'
  LOOP
    EXECUTE 'GRANT SELECT ON takedown_salts, takedowns TO ' || reader;
  END LOOP;
END $$;
