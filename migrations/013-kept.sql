-- What would otherwise be found out by reading everything.

-- Each takedown leaves a mark. A file that has the newest mark of another one has all of its takedowns.
CREATE TABLE takedown_marks (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  mark TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO takedown_marks (mark)
  SELECT etag_of(string_agg(hash, '' ORDER BY hash)) FROM takedowns HAVING count(*) > 0;

-- Names that takedowns may know by another spelling (src/stores/sql/takedowns.ts).
CREATE INDEX profiles_unusual ON profiles (user_key)
  WHERE octet_length(user_key) <> length(replace(user_key, ' ', ''));

-- Which fields records have, and what lists are called. A program with others brings all records and lists to its own
-- (src/stores/sql/shape.ts).
ALTER TABLE vitrine ADD COLUMN shape TEXT NOT NULL DEFAULT '{"fields":{"microblog profile":["totalFollowers","totalFollowing","totalFavs","totalPost","id","username","name","location","country","website","bio","avatar","avatar_large","verified","cover_image","cover_large"],"post":["id","token_id","post_details","photo","video_code","video_title","video_site","video_url","user","status","video_thumbnail","date","status_general","url_audio","title_audio","thumbnail_song"],"portfolio profile":["totalFollowers","totalFollowing","Likes","totalShots","Lists","Listed","Projects","id","username","name","location","social_link","website","bio","skills","avatar","type_account","cover_image"],"shot":["id","id_project","created_project","image","large_image","token_id","description","title","user_id","status","tags","date","attachment","url_purchased","price_item"]},"lists":["posts","Shots","Posts"]}';

-- How many records there are of each kind.
CREATE TABLE counts (
  kind TEXT PRIMARY KEY,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counts
  SELECT 'microblog profile', count(*) FROM profiles WHERE family = 'microblog'
  UNION ALL SELECT 'post', count(*) FROM items WHERE family = 'microblog'
  UNION ALL SELECT 'portfolio profile', count(*) FROM profiles WHERE family = 'portfolio'
  UNION ALL SELECT 'shot', count(*) FROM items WHERE family = 'portfolio';

-- Addresses of copies that a record named before, and that perhaps no record names now. Whoever looks through all records
-- sets `pass` to a number of its own.
CREATE TABLE media_doubts (
  url TEXT PRIMARY KEY,
  pass INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO media_doubts (url) SELECT url FROM media;

CREATE TRIGGER profile_unnamed AFTER UPDATE OF record ON profiles
WHEN OLD.record <> NEW.record AND EXISTS (SELECT 1 FROM media) BEGIN
  INSERT INTO media_doubts (url) SELECT url FROM media
  WHERE url IN (SELECT value FROM json_each(CASE WHEN json_valid(OLD.record) THEN OLD.record ELSE '{}' END))
  ON CONFLICT DO UPDATE SET pass = NULL;
END;
CREATE TRIGGER profile_gone AFTER DELETE ON profiles WHEN EXISTS (SELECT 1 FROM media) BEGIN
  INSERT INTO media_doubts (url) SELECT url FROM media
  WHERE url IN (SELECT value FROM json_each(CASE WHEN json_valid(OLD.record) THEN OLD.record ELSE '{}' END))
  ON CONFLICT DO UPDATE SET pass = NULL;
END;
CREATE TRIGGER item_unnamed AFTER UPDATE OF record ON items
WHEN OLD.record <> NEW.record AND EXISTS (SELECT 1 FROM media) BEGIN
  INSERT INTO media_doubts (url) SELECT url FROM media
  WHERE url IN (SELECT value FROM json_each(CASE WHEN json_valid(OLD.record) THEN OLD.record ELSE '{}' END))
  ON CONFLICT DO UPDATE SET pass = NULL;
END;
CREATE TRIGGER item_gone AFTER DELETE ON items WHEN EXISTS (SELECT 1 FROM media) BEGIN
  INSERT INTO media_doubts (url) SELECT url FROM media
  WHERE url IN (SELECT value FROM json_each(CASE WHEN json_valid(OLD.record) THEN OLD.record ELSE '{}' END))
  ON CONFLICT DO UPDATE SET pass = NULL;
END;

-- 1: earlier versions have left deleted data in unused space. VACUUM ends that.
ALTER TABLE vitrine ADD COLUMN holds_traces INTEGER NOT NULL DEFAULT 0;
UPDATE vitrine SET holds_traces = 1 WHERE generation > 0;
