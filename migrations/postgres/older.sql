-- Brings a database of any earlier version to the point where schema.sql, which comes next, makes all that it lacks. What follows from
-- the records is derived after that. A database may lack any of these, as each version had some of them.

-- What earlier versions had, and this one has not. Their triggers go with the functions.
DROP FUNCTION IF EXISTS record_profile_change, record_list_change, update_words, doubt_media, forget_names_of_profile,
  forget_names_of_item, note_other_names, packed_of CASCADE;
DROP TABLE IF EXISTS list_names, media_doubts;
DROP INDEX IF EXISTS profiles_unpacked, lists_unpacked;
ALTER TABLE profiles DROP COLUMN IF EXISTS packed;
ALTER TABLE vitrine DROP COLUMN IF EXISTS measured;

-- Tables that are derived are made anew where they had other columns. Who was noted as changed goes with them, and the generations
-- since which all changes are known, so that subscribers are told of everything.
DO $$
DECLARE
  former record;
BEGIN
  FOR former IN
    SELECT relname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE attrelid IN (to_regclass('lists'), to_regclass('changes'), to_regclass('media_names'))
      AND (relname, attname) IN (('lists', 'items'), ('changes', 'items'), ('media_names', 'family')) AND NOT attisdropped
  LOOP
    EXECUTE 'DROP TABLE ' || former.relname;
    IF former.relname = 'changes' THEN
      DROP TABLE generations;
      UPDATE vitrine SET erase_before = NULL;
    END IF;
  END LOOP;
  IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('lists') AND attname = 'words') THEN
    DROP TABLE IF EXISTS lists;
  END IF;
END $$;

-- Columns of tables that stay. Their order is that of schema.sql.
ALTER TABLE profiles ADD COLUMN IF NOT EXISTS served text, ADD COLUMN IF NOT EXISTS words text NOT NULL DEFAULT '[]';
ALTER TABLE vitrine ADD COLUMN IF NOT EXISTS media_url text,
  ADD COLUMN IF NOT EXISTS last_run bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS erase_before bigint,
  ADD COLUMN IF NOT EXISTS shape text NOT NULL DEFAULT '{"fields":{"microblog profile":["totalFollowers","totalFollowing","totalFavs","totalPost","id","username","name","location","country","website","bio","avatar","avatar_large","verified","cover_image","cover_large"],"post":["id","token_id","post_details","photo","video_code","video_title","video_site","video_url","user","status","video_thumbnail","date","status_general","url_audio","title_audio","thumbnail_song"],"portfolio profile":["totalFollowers","totalFollowing","Likes","totalShots","Lists","Listed","Projects","id","username","name","location","social_link","website","bio","skills","avatar","type_account","cover_image"],"shot":["id","id_project","created_project","image","large_image","token_id","description","title","user_id","status","tags","date","attachment","url_purchased","price_item"]},"lists":["posts","Shots","Posts"]}',
  ADD COLUMN IF NOT EXISTS erased_before bigint NOT NULL DEFAULT 0;

-- What is known of a copy stood with each of its addresses. A picture that could not be decoded had the width 0, and how often as its
-- height.
CREATE TABLE IF NOT EXISTS media (
  url text COLLATE "C" PRIMARY KEY,
  file text COLLATE "C",
  bytes bigint NOT NULL,
  reason text,
  linked_file text,
  unnamed_since bigint
);
ALTER TABLE media ADD COLUMN IF NOT EXISTS bytes bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS width integer, ADD COLUMN IF NOT EXISTS height integer, ADD COLUMN IF NOT EXISTS color text,
  ADD COLUMN IF NOT EXISTS small text, ADD COLUMN IF NOT EXISTS refused text COLLATE "C";
CREATE TEMP TABLE former_copies ON COMMIT DROP AS
  SELECT file, max(bytes) AS bytes, nullif(max(width), 0) AS width, CASE WHEN max(width) > 0 THEN max(height) END AS height,
    max(color) AS color, max(small) AS small,
    CASE WHEN max(width) = 0 THEN max(height) ELSE 0 END AS tries
  FROM media WHERE file IS NOT NULL GROUP BY file;
ALTER TABLE media DROP COLUMN bytes, DROP COLUMN width, DROP COLUMN height, DROP COLUMN color, DROP COLUMN small;
