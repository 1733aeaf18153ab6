-- `profiles` and `items` hold everything. `record` is the JSON text that is served; the columns beside it are what it is found by.
-- Items lie in the order in which they are read, so that a lookup touches neighbouring pages however many there are.

CREATE TABLE profiles (
  family TEXT NOT NULL CHECK (family IN ('microblog', 'portfolio')),
  user_key TEXT NOT NULL,
  id INTEGER NOT NULL CHECK (id > 0),
  record TEXT NOT NULL,
  PRIMARY KEY (family, user_key),
  UNIQUE (family, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE items (
  family TEXT NOT NULL,
  owner INTEGER NOT NULL,
  date INTEGER NOT NULL, -- its digits: 20240131235959
  id INTEGER NOT NULL CHECK (id > 0),
  record TEXT NOT NULL,
  PRIMARY KEY (family, owner, date DESC, id DESC),
  FOREIGN KEY (family, owner) REFERENCES profiles (family, id) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

-- Where the item with an id lies. A table, kept by what writes `items`, because an index would be filled in the items'
-- order, all over its pages, and this is filled in its own.
CREATE TABLE item_keys (
  family TEXT NOT NULL,
  id INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  date INTEGER NOT NULL,
  PRIMARY KEY (family, id)
) STRICT, WITHOUT ROWID;

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
