-- Records name pictures by their original addresses. What is served names our copy of a picture where there is one.

CREATE TABLE media (
  url text COLLATE "C" PRIMARY KEY, -- the original address
  file text COLLATE "C", -- the copy, '{sha256}.{extension}'; NULL if it could not be had
  bytes bigint NOT NULL,
  reason text, -- why there is no copy
  linked_file text, -- the copy that is named in what is served
  unnamed_since bigint -- when it was found that no record names the address any more, in seconds since 1970
);

CREATE INDEX media_by_file ON media (file);

ALTER TABLE profiles ADD COLUMN served text; -- the record with the addresses of copies; NULL: the record as it is
ALTER TABLE vitrine ADD COLUMN media_url text; -- what the addresses of copies begin with

-- Roles that may read the items may read the media.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl) WHERE oid = 'items'::regclass AND privilege_type = 'SELECT'
  LOOP
    EXECUTE 'GRANT SELECT ON media TO ' || reader;
  END LOOP;
END $$;
