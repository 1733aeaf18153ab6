-- Version 1.3: what follows from the records is derived by the program (src/stores/sql/derive.ts), which does so for everything
-- after this.

DROP FUNCTION record_profile_change() CASCADE;
DROP FUNCTION record_list_change() CASCADE;
DROP FUNCTION update_words() CASCADE;

DROP INDEX lists_unpacked;
DROP INDEX profiles_unpacked;
ALTER TABLE profiles DROP COLUMN packed;
DROP FUNCTION packed_of(text);
-- Names that takedowns may know by another spelling (src/stores/sql/takedowns.ts).
CREATE INDEX profiles_unusual ON profiles (user_key)
  WHERE octet_length(user_key) <> length(replace(user_key, ' ', ''));

-- How many records there are of each kind.
CREATE TABLE counts (
  kind text PRIMARY KEY,
  number bigint NOT NULL
);
INSERT INTO counts
  SELECT 'microblog profile', count(*) FROM profiles WHERE family = 'microblog'
  UNION ALL SELECT 'post', count(*) FROM items WHERE family = 'microblog'
  UNION ALL SELECT 'portfolio profile', count(*) FROM profiles WHERE family = 'portfolio'
  UNION ALL SELECT 'shot', count(*) FROM items WHERE family = 'portfolio';

-- Each takedown leaves a mark. A database that has the newest mark of another one has all of its takedowns.
CREATE TABLE takedown_marks (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mark text COLLATE "C" NOT NULL UNIQUE
);
INSERT INTO takedown_marks (mark)
  SELECT etag_of(string_agg(hash, '' ORDER BY hash)) FROM takedowns HAVING count(*) > 0;

-- Which fields records have, and what lists are called (src/stores/sql/shape.ts).
ALTER TABLE vitrine ADD COLUMN shape text NOT NULL DEFAULT '{"fields":{"microblog profile":["totalFollowers","totalFollowing","totalFavs","totalPost","id","username","name","location","country","website","bio","avatar","avatar_large","verified","cover_image","cover_large"],"post":["id","token_id","post_details","photo","video_code","video_title","video_site","video_url","user","status","video_thumbnail","date","status_general","url_audio","title_audio","thumbnail_song"],"portfolio profile":["totalFollowers","totalFollowing","Likes","totalShots","Lists","Listed","Projects","id","username","name","location","social_link","website","bio","skills","avatar","type_account","cover_image"],"shot":["id","id_project","created_project","image","large_image","token_id","description","title","user_id","status","tags","date","attachment","url_purchased","price_item"]},"lists":["posts","Shots","Posts"]}';
-- The generation of the last takedown that has erased names in `changes`.
ALTER TABLE vitrine ADD COLUMN erased_before bigint NOT NULL DEFAULT 0;

-- The latest of all changes, also of items that are too old for the list.
ALTER TABLE changes RENAME COLUMN items TO generation;
UPDATE changes SET generation = greatest(profile, list, generation);

ALTER TABLE media ADD COLUMN refused text COLLATE "C"; -- the host, with its scheme, if no fetch was allowed to ask it
CREATE INDEX media_refused ON media (refused) WHERE refused IS NOT NULL;
CREATE INDEX media_unlinked ON media (url) WHERE linked_file IS DISTINCT FROM file;

-- All addresses of a copy have what is known of it. Without the index, each address reads all others of its file.
CREATE INDEX media_measured ON media (file) WHERE width IS NOT NULL;
UPDATE media SET (width, height, color, small) = (
  SELECT width, height, color, small FROM media AS other WHERE other.file = media.file AND other.width IS NOT NULL LIMIT 1)
WHERE file IS NOT NULL AND width IS NULL;
CREATE INDEX media_unmeasured ON media (file)
  WHERE coalesce(width, 0) = 0 AND coalesce(height, 0) < 3 AND substr(file, 66) IN ('jpg', 'png', 'gif', 'webp', 'avif');

CREATE INDEX media_unnamed ON media (url) WHERE unnamed_since IS NOT NULL;
CREATE INDEX media_failed ON media (url) WHERE coalesce(file, refused) IS NULL;

-- Which record names which address, so that it is known whose answers a copy changes, and when nobody names it any more. It is of no
-- use while `media` is empty, and complete from then on.
CREATE TABLE media_names (
  url text COLLATE "C" NOT NULL,
  kind text NOT NULL, -- of the record, as in `counts`
  id bigint NOT NULL, -- of the record
  is_file integer NOT NULL, -- 1: an attachment or audio, which only --files fetches
  PRIMARY KEY (url, kind, id, is_file)
);

-- Roles that may read the items may read these.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl) WHERE oid = 'items'::regclass AND privilege_type = 'SELECT'
  LOOP
    EXECUTE 'GRANT SELECT ON takedown_marks, counts, media_names TO ' || reader;
  END LOOP;
END $$;
