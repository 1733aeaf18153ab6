-- What is served is stored ready: a profile's record, and for each user the list of their newest 15 items, each with its
-- ETag. `items` is the truth; `lists` is rewritten for the users whose items an import touched, in the same transaction.
-- This is the schema of version 1.0.

-- One row: which migrations have run, and a number that grows with every import.
CREATE TABLE vitrine (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  schema integer NOT NULL,
  generation bigint NOT NULL
);
INSERT INTO vitrine (schema, generation) VALUES (0, 0);

CREATE TABLE profiles (
  family text NOT NULL CHECK (family IN ('microblog', 'portfolio')),
  user_key text COLLATE "C" NOT NULL,
  id bigint NOT NULL CHECK (id > 0),
  record text NOT NULL, -- the JSON text that is served, as text, so that not a byte of it changes
  etag text NOT NULL,
  PRIMARY KEY (family, id),
  -- Asked at a statement's end, so that two users may swap names.
  UNIQUE (family, user_key) DEFERRABLE INITIALLY IMMEDIATE
);

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
