-- Lists are stored as they are sent, and in no other form: a body for each name that the lists of a family have. The program
-- compresses long bodies and profiles at the end of each change (src/stores/sql/packing.ts), as it does after this: each
-- index holds what is yet to be compressed, which is nothing between two changes.

UPDATE profiles SET packed = NULL WHERE packed IS NOT NULL;

ALTER TABLE lists DISABLE TRIGGER list_changed;
ALTER TABLE lists ADD COLUMN collection text COLLATE "C"; -- the one member of the body
ALTER TABLE lists ADD COLUMN body bytea; -- '{"Shots":[{…},{…}]}', newest first; gzip if that has 1,024 bytes or more
ALTER TABLE lists ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE lists DROP CONSTRAINT lists_pkey, DROP CONSTRAINT lists_family_owner_key;

CREATE FUNCTION body_of(text) RETURNS bytea IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
  RETURN convert_to($1, 'UTF8');
-- For statements that SQLite runs as well, which compresses at once.
CREATE FUNCTION packed_of(text) RETURNS bytea IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
  RETURN NULL::bytea;

UPDATE lists SET collection = CASE family WHEN 'microblog' THEN 'posts' ELSE 'Shots' END,
  body = body_of('{"' || CASE family WHEN 'microblog' THEN 'posts' ELSE 'Shots' END || '":' || items || '}');
INSERT INTO lists (family, user_key, owner, etag, items, collection, body)
  SELECT family, user_key, owner, etag, items, 'Posts', body_of('{"Posts":' || items || '}')
  FROM lists WHERE family = 'portfolio';

-- An index on what it held goes with a column.
ALTER TABLE lists DROP COLUMN items;
ALTER TABLE lists DROP COLUMN IF EXISTS packed;
ALTER TABLE lists ALTER COLUMN collection SET NOT NULL, ALTER COLUMN body SET NOT NULL,
  ADD PRIMARY KEY (family, user_key, collection), ADD UNIQUE (family, owner, collection);
ALTER TABLE lists ENABLE TRIGGER list_changed;

CREATE INDEX lists_unpacked ON lists (owner) WHERE octet_length(body) >= 1024 AND substr(body, 1, 1) = '\x7b';
