-- The tables of a new database. Databases of earlier versions get the same by the numbered files
-- (test/stores/postgres/postgres-migration.slow.test.ts).

-- FUNCTIONS that SQLite has of the program

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

-- The members as columns, for whoever comes with an SQL tool. PostgreSQL's JSON functions refuse the character zero.
CREATE FUNCTION members(record text) RETURNS json IMMUTABLE PARALLEL SAFE LANGUAGE sql
  RETURN regexp_replace(record, '(?<!\\)((?:\\\\)*)\\u0000', '\1', 'g')::json;

CREATE FUNCTION body_of(text) RETURNS bytea IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
  RETURN convert_to($1, 'UTF8');

-- The program computes the same (src/stores/sql/takedowns.ts).
CREATE FUNCTION takedown_hash(salt text, family text, what text, value text) RETURNS text
  IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
  RETURN encode(sha256(convert_to(salt || ' ' || family || ' ' || what || ' ' || value, 'UTF8')), 'hex');

-- THE TRUTH: what was imported, what was taken down, and which copies of pictures there are.

CREATE TABLE profiles (
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
CREATE INDEX profiles_unusual ON profiles (user_key)
  WHERE octet_length(user_key) <> length(replace(user_key, ' ', ''));

-- The importer looks up each item's owner itself, once for all of them and under a lock: a foreign key would do it again,
-- row by row. `vitrine check` makes sure.
CREATE TABLE items (
  family text NOT NULL CHECK (family IN ('microblog', 'portfolio')),
  owner bigint NOT NULL,
  date text COLLATE "C" NOT NULL,
  id bigint NOT NULL CHECK (id > 0),
  record text NOT NULL,
  PRIMARY KEY (family, id)
);

-- The order in which items are read. It cannot carry the records as well: an index takes rows of 2.7 KB at most, and a
-- record may have 64. So an import writes the rows themselves in this order, and neighbours share pages.
CREATE INDEX items_in_order ON items (family, owner, date DESC, id DESC);

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

-- Each takedown leaves a mark. A database that has the newest mark of another one has all of its takedowns.
CREATE TABLE takedown_marks (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mark text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE media (
  url text COLLATE "C" PRIMARY KEY, -- the original address
  file text COLLATE "C", -- the copy, '{sha256}.{extension}'; NULL if it could not be had
  bytes bigint NOT NULL,
  reason text, -- why there is no copy
  linked_file text, -- the copy that is named in what is served
  unnamed_since bigint, -- derived: since when no record names the address, in seconds since 1970
  width integer, -- of the copy, in pixels; 0: it cannot be measured; NULL: not measured yet
  height integer,
  color text, -- the mean, 'rrggbb'; NULL where the picture lets its background through
  small text, -- the widths of its small WebP files, such as '480 960'
  refused text COLLATE "C" -- the host, with its scheme, if no fetch was allowed to ask it
);
CREATE INDEX media_by_file ON media (file);
CREATE INDEX media_refused ON media (refused) WHERE refused IS NOT NULL;
CREATE INDEX media_unlinked ON media (url) WHERE linked_file IS DISTINCT FROM file;
CREATE INDEX media_measured ON media (file) WHERE width IS NOT NULL;
CREATE INDEX media_unmeasured ON media (file)
  WHERE coalesce(width, 0) = 0 AND coalesce(height, 0) < 3 AND substr(file, 66) IN ('jpg', 'png', 'gif', 'webp', 'avif');
CREATE INDEX media_unnamed ON media (url) WHERE unnamed_since IS NOT NULL;
CREATE INDEX media_failed ON media (url) WHERE coalesce(file, refused) IS NULL;

-- DERIVED from it, for the users whom a change touches, in its transaction (src/stores/sql/derive.ts).

CREATE TABLE lists (
  family text NOT NULL,
  user_key text COLLATE "C" NOT NULL,
  owner bigint NOT NULL,
  etag text NOT NULL, -- of the list itself, whatever it is called
  collection text COLLATE "C" NOT NULL, -- the one member of the body
  body bytea NOT NULL, -- '{"Shots":[{…},{…}]}', newest first; gzip if that has 1,024 bytes or more
  PRIMARY KEY (family, user_key, collection),
  UNIQUE (family, owner, collection)
);
ALTER TABLE lists ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE words (
  family text NOT NULL,
  word text COLLATE "C" NOT NULL,
  id bigint NOT NULL, -- of the profile
  PRIMARY KEY (family, word, id)
);
CREATE VIEW words_of_profiles AS
  SELECT family, word, id FROM profiles CROSS JOIN json_array_elements_text(words::json) AS each (word);

-- Which record names which address, so that it is known whose answers a copy changes, and when nobody names it any more. It is of no
-- use while `media` is empty, and complete from then on.
CREATE TABLE media_names (
  url text COLLATE "C" NOT NULL,
  kind text NOT NULL, -- of the record, as in `counts`
  id bigint NOT NULL, -- of the record
  is_file integer NOT NULL, -- 1: an attachment or audio, which only --files fetches
  PRIMARY KEY (url, kind, id, is_file)
);

CREATE TABLE counts (
  kind text PRIMARY KEY,
  number bigint NOT NULL
);
INSERT INTO counts VALUES ('microblog profile', 0), ('post', 0), ('portfolio profile', 0), ('shot', 0);

-- Who changed. Each number is the generation that the last change replaced: whoever knows the data as of generation G needs the
-- rows with G or more.
CREATE TABLE changes (
  family text NOT NULL,
  user_key text COLLATE "C" NOT NULL,
  profile bigint, -- when the profile changed; NULL if only the list or older items did
  list bigint,
  generation bigint, -- the latest of all, also of changes of items that are too old for the list
  username text, -- as it was imported, before the profile changed
  PRIMARY KEY (family, user_key)
);

-- WHO KNOWS WHAT

-- One row. A server has nothing to serve before the generation is above 0.
CREATE TABLE vitrine (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  schema integer NOT NULL,
  generation bigint NOT NULL, -- when the data changed last, in microseconds since 1970
  media_url text, -- what the addresses of copies begin with
  last_run bigint NOT NULL DEFAULT 0, -- when an import was committed last, also one that changed nothing
  erase_before bigint, -- the generation that everybody must know of before names in `changes` are erased
  shape text NOT NULL DEFAULT '{"fields":{"microblog profile":["totalFollowers","totalFollowing","totalFavs","totalPost","id","username","name","location","country","website","bio","avatar","avatar_large","verified","cover_image","cover_large"],"post":["id","token_id","post_details","photo","video_code","video_title","video_site","video_url","user","status","video_thumbnail","date","status_general","url_audio","title_audio","thumbnail_song"],"portfolio profile":["totalFollowers","totalFollowing","Likes","totalShots","Lists","Listed","Projects","id","username","name","location","social_link","website","bio","skills","avatar","type_account","cover_image"],"shot":["id","id_project","created_project","image","large_image","token_id","description","title","user_id","status","tags","date","attachment","url_purchased","price_item"]},"lists":["posts","Shots","Posts"]}',
  erased_before bigint NOT NULL DEFAULT 0 -- the generation of the last takedown that has erased names in `changes`
);
INSERT INTO vitrine (schema, generation) VALUES (0, 0);

-- Earlier generations since which all changes are known. A generation of another database is not among them.
CREATE TABLE generations (
  generation bigint PRIMARY KEY
);

-- Who is told of changes, and up to which generation they were.
CREATE TABLE subscribers (
  name text PRIMARY KEY,
  generation bigint NOT NULL
);

-- The members as columns, for whoever comes with an SQL tool.

CREATE VIEW microblog_profiles AS SELECT
  members(record) ->> 'totalFollowers' AS "totalFollowers",
  members(record) ->> 'totalFollowing' AS "totalFollowing",
  members(record) ->> 'totalFavs' AS "totalFavs",
  members(record) ->> 'totalPost' AS "totalPost",
  members(record) ->> 'id' AS "id",
  members(record) ->> 'username' AS "username",
  members(record) ->> 'name' AS "name",
  members(record) ->> 'location' AS "location",
  members(record) ->> 'country' AS "country",
  members(record) ->> 'website' AS "website",
  members(record) ->> 'bio' AS "bio",
  members(record) ->> 'avatar' AS "avatar",
  members(record) ->> 'avatar_large' AS "avatar_large",
  members(record) ->> 'verified' AS "verified",
  members(record) ->> 'cover_image' AS "cover_image",
  members(record) ->> 'cover_large' AS "cover_large"
FROM profiles WHERE family = 'microblog';

CREATE VIEW posts AS SELECT
  members(record) ->> 'id' AS "id",
  members(record) ->> 'token_id' AS "token_id",
  members(record) ->> 'post_details' AS "post_details",
  members(record) ->> 'photo' AS "photo",
  members(record) ->> 'video_code' AS "video_code",
  members(record) ->> 'video_title' AS "video_title",
  members(record) ->> 'video_site' AS "video_site",
  members(record) ->> 'video_url' AS "video_url",
  members(record) ->> 'user' AS "user",
  members(record) ->> 'status' AS "status",
  members(record) ->> 'video_thumbnail' AS "video_thumbnail",
  members(record) ->> 'date' AS "date",
  members(record) ->> 'status_general' AS "status_general",
  members(record) ->> 'url_audio' AS "url_audio",
  members(record) ->> 'title_audio' AS "title_audio",
  members(record) ->> 'thumbnail_song' AS "thumbnail_song"
FROM items WHERE family = 'microblog';

CREATE VIEW portfolio_profiles AS SELECT
  members(record) ->> 'totalFollowers' AS "totalFollowers",
  members(record) ->> 'totalFollowing' AS "totalFollowing",
  members(record) ->> 'Likes' AS "Likes",
  members(record) ->> 'totalShots' AS "totalShots",
  members(record) ->> 'Lists' AS "Lists",
  members(record) ->> 'Listed' AS "Listed",
  members(record) ->> 'Projects' AS "Projects",
  members(record) ->> 'id' AS "id",
  members(record) ->> 'username' AS "username",
  members(record) ->> 'name' AS "name",
  members(record) ->> 'location' AS "location",
  members(record) ->> 'social_link' AS "social_link",
  members(record) ->> 'website' AS "website",
  members(record) ->> 'bio' AS "bio",
  members(record) ->> 'skills' AS "skills",
  members(record) ->> 'avatar' AS "avatar",
  members(record) ->> 'type_account' AS "type_account",
  members(record) ->> 'cover_image' AS "cover_image"
FROM profiles WHERE family = 'portfolio';

CREATE VIEW shots AS SELECT
  members(record) ->> 'id' AS "id",
  members(record) ->> 'id_project' AS "id_project",
  members(record) ->> 'created_project' AS "created_project",
  members(record) ->> 'image' AS "image",
  members(record) ->> 'large_image' AS "large_image",
  members(record) ->> 'token_id' AS "token_id",
  members(record) ->> 'description' AS "description",
  members(record) ->> 'title' AS "title",
  members(record) ->> 'user_id' AS "user_id",
  members(record) ->> 'status' AS "status",
  members(record) ->> 'tags' AS "tags",
  members(record) ->> 'date' AS "date",
  members(record) ->> 'attachment' AS "attachment",
  members(record) ->> 'url_purchased' AS "url_purchased",
  members(record) ->> 'price_item' AS "price_item"
FROM items WHERE family = 'portfolio';
