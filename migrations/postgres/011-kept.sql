-- What would otherwise be found out by reading everything.

-- Each takedown leaves a mark. A database that has the newest mark of another one has all of its takedowns.
CREATE TABLE takedown_marks (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mark text COLLATE "C" NOT NULL UNIQUE
);
INSERT INTO takedown_marks (mark)
  SELECT etag_of(string_agg(hash, '' ORDER BY hash)) FROM takedowns HAVING count(*) > 0;

-- Names that takedowns may know by another spelling (src/stores/sql/takedowns.ts).
CREATE INDEX profiles_unusual ON profiles (user_key)
  WHERE octet_length(user_key) <> length(replace(user_key, ' ', ''));

-- Which fields records have, and what lists are called. A program with others brings all records and lists to its own
-- (src/stores/sql/shape.ts).
ALTER TABLE vitrine ADD COLUMN shape text NOT NULL DEFAULT '{"fields":{"microblog profile":["totalFollowers","totalFollowing","totalFavs","totalPost","id","username","name","location","country","website","bio","avatar","avatar_large","verified","cover_image","cover_large"],"post":["id","token_id","post_details","photo","video_code","video_title","video_site","video_url","user","status","video_thumbnail","date","status_general","url_audio","title_audio","thumbnail_song"],"portfolio profile":["totalFollowers","totalFollowing","Likes","totalShots","Lists","Listed","Projects","id","username","name","location","social_link","website","bio","skills","avatar","type_account","cover_image"],"shot":["id","id_project","created_project","image","large_image","token_id","description","title","user_id","status","tags","date","attachment","url_purchased","price_item"]},"lists":["posts","Shots","Posts"]}';

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

-- Addresses of copies that a record named before, and that perhaps no record names now. Whoever looks through all records
-- sets `pass` to a number of its own.
CREATE TABLE media_doubts (
  url text COLLATE "C" PRIMARY KEY,
  pass bigint
);
INSERT INTO media_doubts (url) SELECT url FROM media;

CREATE FUNCTION doubt_media() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM media) THEN
    INSERT INTO media_doubts (url)
    SELECT DISTINCT media.url FROM json_each_text(members(OLD.record)) JOIN media ON media.url = value
    ON CONFLICT (url) DO UPDATE SET pass = NULL;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER profile_unnamed AFTER UPDATE OF record ON profiles
  FOR EACH ROW WHEN (OLD.record <> NEW.record) EXECUTE FUNCTION doubt_media();
CREATE TRIGGER profile_gone AFTER DELETE ON profiles FOR EACH ROW EXECUTE FUNCTION doubt_media();
CREATE TRIGGER item_unnamed AFTER UPDATE OF record ON items
  FOR EACH ROW WHEN (OLD.record <> NEW.record) EXECUTE FUNCTION doubt_media();
CREATE TRIGGER item_gone AFTER DELETE ON items FOR EACH ROW EXECUTE FUNCTION doubt_media();

-- Since version 1.3 the program makes lists compressed.
DROP INDEX lists_unpacked;

-- Roles that may read the items may read these.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl) WHERE oid = 'items'::regclass AND privilege_type = 'SELECT'
  LOOP
    EXECUTE 'GRANT SELECT ON takedown_marks, counts, media_doubts TO ' || reader;
  END LOOP;
END $$;
