-- The tables of a database, as they are. A new one gets them by this file alone. One of an earlier version gets by it what it lacks,
-- after older.sql.

-- FUNCTIONS that SQLite has of the program

-- The ETag of a text: 132 bits of its SHA-256 in base64url. The program computes the same (src/records/etag.ts).
CREATE OR REPLACE FUNCTION etag_of(text) RETURNS text IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
  RETURN '"' || left(translate(encode(sha256(convert_to($1, 'UTF8')), 'base64'), '+/', '-_'), 22) || '"';

-- For `vitrine check`. A text that is no JSON makes the cast fail.
CREATE OR REPLACE FUNCTION json_valid(record text) RETURNS boolean IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM record::json;
  RETURN true;
EXCEPTION WHEN others THEN
  RETURN false;
END $$;

-- The members of a record. PostgreSQL's JSON functions refuse the character zero.
CREATE OR REPLACE FUNCTION members(record text) RETURNS json IMMUTABLE PARALLEL SAFE LANGUAGE sql
  RETURN regexp_replace(record, '(?<!\\)((?:\\\\)*)\\u0000', '\1', 'g')::json;

CREATE OR REPLACE FUNCTION body_of(text) RETURNS bytea IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
  RETURN convert_to($1, 'UTF8');

-- The program computes the same (src/stores/sql/takedowns.ts).
CREATE OR REPLACE FUNCTION takedown_hash(salt text, family text, what text, value text) RETURNS text
  IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
  RETURN encode(sha256(convert_to(salt || ' ' || family || ' ' || what || ' ' || value, 'UTF8')), 'hex');

-- THE TRUTH: what was imported, what was taken down, and which copies of pictures there are.

CREATE TABLE IF NOT EXISTS profiles (
  family text NOT NULL CHECK (family IN ('microblog', 'portfolio')),
  user_key text COLLATE "C" NOT NULL, -- the user name, folded: two spellings of one name meet here
  id bigint NOT NULL CHECK (id > 0),
  record text NOT NULL, -- the JSON text that was imported, as text, so that not a byte of it changes
  etag text NOT NULL, -- derived: of what is served
  served text, -- derived: the record with the addresses of copies; NULL: the record as it is
  words text NOT NULL DEFAULT '[]', -- what the user is found by, a JSON array: made of the record by the program, as user_key is
  PRIMARY KEY (family, id),
  -- Asked at a statement's end, so that two users may swap names.
  UNIQUE (family, user_key) DEFERRABLE INITIALLY IMMEDIATE
);
-- Names that takedowns may know by another spelling (src/stores/sql/takedowns.ts).
CREATE INDEX IF NOT EXISTS profiles_unusual ON profiles (user_key)
  WHERE octet_length(user_key) <> length(replace(user_key, ' ', ''));

-- The importer looks up each item's owner itself, once for all of them and under a lock: a foreign key would do it again,
-- row by row. `vitrine check` makes sure.
CREATE TABLE IF NOT EXISTS items (
  family text NOT NULL CHECK (family IN ('microblog', 'portfolio')),
  owner bigint NOT NULL,
  date text COLLATE "C" NOT NULL,
  id bigint NOT NULL CHECK (id > 0),
  record text NOT NULL,
  PRIMARY KEY (family, id)
);

-- The order in which items are read. It cannot carry the records as well: an index takes rows of 2.7 KB at most, and a
-- record may have 64. So an import writes the rows themselves in this order, and neighbours share pages.
CREATE INDEX IF NOT EXISTS items_in_order ON items (family, owner, date DESC, id DESC);

CREATE TABLE IF NOT EXISTS takedown_salts (
  salt text PRIMARY KEY -- one of this database; others came with the takedowns of other databases
);

CREATE TABLE IF NOT EXISTS takedowns (
  hash text COLLATE "C" NOT NULL, -- of a user's name, of a user's id, or of an item's id
  entry text COLLATE "C" NOT NULL, -- of a user: the hash of the name; of an item: its hash
  family text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('user', 'item')),
  since text NOT NULL, -- the day
  PRIMARY KEY (hash, entry)
);

-- Each takedown leaves a mark, since a set of salted hashes does not tell whether another database had it whole. A database that has the newest mark of another one has all of its takedowns.
CREATE TABLE IF NOT EXISTS takedown_marks (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mark text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE IF NOT EXISTS media (
  url text COLLATE "C" PRIMARY KEY, -- the original address
  file text COLLATE "C", -- the copy, '{sha256}.{extension}'; NULL if it could not be had
  reason text, -- why there is no copy
  linked_file text, -- the copy that is named in what is served: not `file` before the fetch ends
  unnamed_since bigint, -- derived: since when no record names the address, in seconds since 1970; that it is so follows from media_names, but not since when
  refused text COLLATE "C" -- the host, with its scheme, if no fetch was allowed to ask it
);
CREATE INDEX IF NOT EXISTS media_by_file ON media (file);
CREATE INDEX IF NOT EXISTS media_refused ON media (refused) WHERE refused IS NOT NULL;
CREATE INDEX IF NOT EXISTS media_unlinked ON media (url) WHERE linked_file IS DISTINCT FROM file;
CREATE INDEX IF NOT EXISTS media_unnamed ON media (url) WHERE unnamed_since IS NOT NULL;
CREATE INDEX IF NOT EXISTS media_failed ON media (url) WHERE coalesce(file, refused) IS NULL;

-- What pages need to know of a copy, whatever addresses it has.
CREATE TABLE IF NOT EXISTS copies (
  file text COLLATE "C" PRIMARY KEY,
  bytes bigint NOT NULL,
  width integer, -- in pixels; NULL: not measured
  height integer,
  color text, -- the mean, 'rrggbb'; NULL where the picture lets its background through
  small text, -- the widths of its small WebP files with the start of their hashes, such as '240:0f3a 480:77b1'
  tries integer NOT NULL DEFAULT 0 -- how often decoding it was begun and came to nothing; after the third time it is left alone
);
CREATE INDEX IF NOT EXISTS copies_unmeasured ON copies (file)
  WHERE (width IS NULL OR width > 240 AND substr(coalesce(small, ''), 1, 4) <> '240:') AND tries < 3
  AND substr(file, 66) IN ('jpg', 'png', 'gif', 'webp', 'avif');

-- DERIVED from it, for the users that a change touches, in its transaction (src/stores/sql/derive.ts).

CREATE TABLE IF NOT EXISTS lists (
  family text NOT NULL,
  user_key text COLLATE "C" NOT NULL,
  owner bigint NOT NULL,
  etag text NOT NULL, -- of the list itself, whatever it is called
  collection text COLLATE "C" NOT NULL, -- the one member of the body
  body bytea NOT NULL, -- '{"Shots":[{…},{…}]}', newest first; gzip if that has 1,024 bytes or more
  words text, -- what the user is found by besides the words of the profile, a JSON array made of the tags by the program; NULL if there are none, and where another list of the user has them
  PRIMARY KEY (family, user_key, collection),
  UNIQUE (family, owner, collection)
);
ALTER TABLE lists ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE IF NOT EXISTS words (
  family text NOT NULL,
  word text COLLATE "C" NOT NULL,
  id bigint NOT NULL, -- of the profile
  PRIMARY KEY (family, word, id)
);
CREATE OR REPLACE VIEW words_of_profiles AS
  SELECT family, word, id FROM profiles CROSS JOIN json_array_elements_text(words::json) AS each (word);

-- Which record names which address, so that it is known whose answers a copy changes, and when no record names it any more. It is of no
-- use while `media` is empty, and complete from then on.
CREATE TABLE IF NOT EXISTS media_names (
  url text COLLATE "C" NOT NULL,
  kind text NOT NULL, -- of the record, as in `counts`
  id bigint NOT NULL, -- of the record
  is_file integer NOT NULL, -- 1: an attachment or audio, which only --files fetches
  PRIMARY KEY (url, kind, id, is_file)
);

-- How many records there are of each kind: counting a million takes seconds.
CREATE TABLE IF NOT EXISTS counts (
  kind text PRIMARY KEY,
  number bigint NOT NULL
);
INSERT INTO counts VALUES ('microblog profile', 0), ('post', 0), ('portfolio profile', 0), ('shot', 0)
  ON CONFLICT DO NOTHING;

-- Who changed, since what was answered before is gone once it is written over. Each number is the generation that the last change replaced: a subscriber that knows the data as of generation G needs the
-- rows with G or more.
CREATE TABLE IF NOT EXISTS changes (
  family text NOT NULL,
  user_key text COLLATE "C" NOT NULL,
  profile bigint, -- when the profile changed; NULL if only the list or older items did
  list bigint,
  generation bigint, -- the latest of all, also of changes of items that are too old for the list
  username text, -- as it was imported, before the profile changed
  PRIMARY KEY (family, user_key)
);

-- WHO KNOWS WHAT. None of it follows from the records: each line says why.

-- One row. A server has nothing to serve before the generation is above 0.
CREATE TABLE IF NOT EXISTS vitrine (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  schema integer NOT NULL,
  generation bigint NOT NULL, -- when the data changed last, in microseconds since 1970
  media_url text, -- what the addresses of copies begin with
  last_run bigint NOT NULL DEFAULT 0, -- when an import was committed last: one that changed nothing leaves no other sign
  erase_before bigint, -- set while a takedown has left names in `changes`: the generation that all subscribers must know of before they are erased
  shape text NOT NULL DEFAULT '{"fields":{"microblog profile":["totalFollowers","totalFollowing","totalFavs","totalPost","id","username","name","location","country","website","bio","avatar","avatar_large","verified","cover_image","cover_large"],"post":["id","token_id","post_details","photo","video_code","video_title","video_site","video_url","user","status","video_thumbnail","date","status_general","url_audio","title_audio","thumbnail_song"],"portfolio profile":["totalFollowers","totalFollowing","Likes","totalShots","Lists","Listed","Projects","id","username","name","location","social_link","website","bio","skills","avatar","type_account","cover_image"],"shot":["id","id_project","created_project","image","large_image","token_id","description","title","user_id","status","tags","date","attachment","url_purchased","price_item"]},"lists":["posts","Shots","Posts"]}',
  erased_before bigint NOT NULL DEFAULT 0 -- the generation of the last takedown that has erased names in `changes`: what was erased cannot be told from what never was
);
INSERT INTO vitrine (schema, generation) VALUES (0, 0) ON CONFLICT DO NOTHING;

-- Earlier generations since which all changes are known, since a number alone may be that of another database.
CREATE TABLE IF NOT EXISTS generations (
  generation bigint PRIMARY KEY
);

-- Who is told of changes, and up to which generation they were: only they know it beside us. It is negative where the last
-- notification did not arrive, and 0 where none has. `media fetch` is among them: it alone knows what it has looked at.
CREATE TABLE IF NOT EXISTS subscribers (
  name text PRIMARY KEY,
  generation bigint NOT NULL
);

-- The program adds views that show the members of records as columns, for people with an SQL tool: microblog_profiles, posts,
-- portfolio_profiles and shots (src/stores/sql/shape.ts).

-- Roles that may read the items may read the rest.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl)
    WHERE oid = 'items'::regclass AND privilege_type = 'SELECT' AND grantee <> relowner
  LOOP
    EXECUTE 'GRANT SELECT ON profiles, items, takedown_salts, takedowns, takedown_marks, media, copies, lists, words, words_of_profiles,
      media_names, counts, changes, generations, vitrine TO ' || reader;
  END LOOP;
END $$;
