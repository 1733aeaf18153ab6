-- What is served is stored ready: a profile's record, and for each user the list of their newest 15 items, each with its
-- ETag. `items` is the truth; `lists` is rewritten for the users whose items an import touched, in the same transaction.
-- etag_of() is a function of the program: the hash of a text. This is the schema of version 1.0.

CREATE TABLE profiles (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL CHECK (family IN ('microblog', 'portfolio')),
  user_key TEXT NOT NULL, -- the user name, folded: two spellings of one name meet here
  id INTEGER NOT NULL CHECK (id > 0),
  etag TEXT NOT NULL,
  record TEXT NOT NULL,
  UNIQUE (family, user_key),
  UNIQUE (family, id)
) STRICT;

CREATE TABLE items (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  id INTEGER NOT NULL CHECK (id > 0),
  owner INTEGER NOT NULL, -- the id of a profile of the same family
  date TEXT NOT NULL,
  record TEXT NOT NULL
) STRICT;

CREATE TABLE lists (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  user_key TEXT NOT NULL,
  owner INTEGER NOT NULL,
  etag TEXT NOT NULL,
  items TEXT NOT NULL, -- '[{…},{…}]', newest first
  UNIQUE (family, user_key),
  UNIQUE (family, owner)
) STRICT;

CREATE UNIQUE INDEX items_by_id ON items (family, id);
CREATE INDEX items_in_order ON items (family, owner, date DESC, id DESC);

-- When the data changed last, in microseconds since 1970, as in PostgreSQL. It is 0 until the first import has committed;
-- a server has nothing to serve before.

CREATE TABLE vitrine (generation INTEGER NOT NULL) STRICT;

INSERT INTO vitrine VALUES (0);

-- The members as columns, for whoever opens the file with an SQL tool.

CREATE VIEW microblog_profiles AS SELECT
  record ->> 'totalFollowers' AS totalFollowers,
  record ->> 'totalFollowing' AS totalFollowing,
  record ->> 'totalFavs' AS totalFavs,
  record ->> 'totalPost' AS totalPost,
  record ->> 'id' AS id,
  record ->> 'username' AS username,
  record ->> 'name' AS "name",
  record ->> 'location' AS location,
  record ->> 'country' AS country,
  record ->> 'website' AS website,
  record ->> 'bio' AS bio,
  record ->> 'avatar' AS avatar,
  record ->> 'avatar_large' AS avatar_large,
  record ->> 'verified' AS verified,
  record ->> 'cover_image' AS cover_image,
  record ->> 'cover_large' AS cover_large
FROM profiles WHERE family = 'microblog';

CREATE VIEW posts AS SELECT
  record ->> 'id' AS id,
  record ->> 'token_id' AS token_id,
  record ->> 'post_details' AS post_details,
  record ->> 'photo' AS photo,
  record ->> 'video_code' AS video_code,
  record ->> 'video_title' AS video_title,
  record ->> 'video_site' AS video_site,
  record ->> 'video_url' AS video_url,
  record ->> 'user' AS "user",
  record ->> 'status' AS "status",
  record ->> 'video_thumbnail' AS video_thumbnail,
  record ->> 'date' AS "date",
  record ->> 'status_general' AS status_general,
  record ->> 'url_audio' AS url_audio,
  record ->> 'title_audio' AS title_audio,
  record ->> 'thumbnail_song' AS thumbnail_song
FROM items WHERE family = 'microblog';

CREATE VIEW portfolio_profiles AS SELECT
  record ->> 'totalFollowers' AS totalFollowers,
  record ->> 'totalFollowing' AS totalFollowing,
  record ->> 'Likes' AS Likes,
  record ->> 'totalShots' AS totalShots,
  record ->> 'Lists' AS Lists,
  record ->> 'Listed' AS Listed,
  record ->> 'Projects' AS Projects,
  record ->> 'id' AS id,
  record ->> 'username' AS username,
  record ->> 'name' AS "name",
  record ->> 'location' AS location,
  record ->> 'social_link' AS social_link,
  record ->> 'website' AS website,
  record ->> 'bio' AS bio,
  record ->> 'skills' AS skills,
  record ->> 'avatar' AS avatar,
  record ->> 'type_account' AS type_account,
  record ->> 'cover_image' AS cover_image
FROM profiles WHERE family = 'portfolio';

CREATE VIEW shots AS SELECT
  record ->> 'id' AS id,
  record ->> 'id_project' AS id_project,
  record ->> 'created_project' AS created_project,
  record ->> 'image' AS image,
  record ->> 'large_image' AS large_image,
  record ->> 'token_id' AS token_id,
  record ->> 'description' AS description,
  record ->> 'title' AS title,
  record ->> 'user_id' AS user_id,
  record ->> 'status' AS "status",
  record ->> 'tags' AS tags,
  record ->> 'date' AS "date",
  record ->> 'attachment' AS attachment,
  record ->> 'url_purchased' AS url_purchased,
  record ->> 'price_item' AS price_item
FROM items WHERE family = 'portfolio';
