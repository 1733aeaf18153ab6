-- The tables of a new file. One of an earlier version gets what it lacks of them (src/stores/sqlite/migrate.ts).
-- etag_of() and the like are functions of the program (src/stores/sqlite/dialect.ts); no table, index or view needs them.

-- THE TRUTH: what was imported, what was taken down, and which copies of pictures there are.

CREATE TABLE profiles (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL CHECK (family IN ('microblog', 'portfolio')),
  user_key TEXT NOT NULL, -- the user name, folded: two spellings of one name meet here
  id INTEGER NOT NULL CHECK (id > 0),
  etag TEXT NOT NULL, -- derived: of what is served
  record TEXT NOT NULL,
  served TEXT, -- derived: the record with the addresses of copies; NULL: the record as it is
  words TEXT NOT NULL DEFAULT '[]', -- what the user is found by, a JSON array: made of the record by the program, as user_key is
  UNIQUE (family, user_key),
  UNIQUE (family, id)
) STRICT;

-- Names that takedowns may know by another spelling (src/stores/sql/takedowns.ts).
CREATE INDEX profiles_unusual ON profiles (user_key)
  WHERE octet_length(user_key) <> length(replace(user_key, ' ', ''));

CREATE TABLE items (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  id INTEGER NOT NULL CHECK (id > 0),
  owner INTEGER NOT NULL, -- the id of a profile of the same family
  date TEXT NOT NULL,
  record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX items_by_id ON items (family, id);
CREATE INDEX items_in_order ON items (family, owner, date DESC, id DESC);

-- Salted hashes of names and ids, and nothing that can be read: no import brings them back.
CREATE TABLE takedown_salts (
  salt TEXT PRIMARY KEY -- one of this database; others came with the takedowns of other databases
) STRICT, WITHOUT ROWID;

CREATE TABLE takedowns (
  hash TEXT NOT NULL, -- of a user's name, of a user's id, or of an item's id
  entry TEXT NOT NULL, -- of a user: the hash of the name; of an item: its hash
  family TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('user', 'item')),
  since TEXT NOT NULL, -- the day
  PRIMARY KEY (hash, entry)
) STRICT, WITHOUT ROWID;

-- Each takedown leaves a mark, since a set of salted hashes does not tell whether another database had it whole. A file that has the newest mark of another one has all of its takedowns.
CREATE TABLE takedown_marks (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  mark TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE media (
  url TEXT PRIMARY KEY, -- the original address
  file TEXT, -- the copy, '{sha256}.{extension}'; NULL if it could not be had
  reason TEXT, -- why there is no copy
  linked_file TEXT, -- the copy that is named in what is served: not `file` before the fetch ends
  unnamed_since INTEGER, -- derived: since when no record names the address, in seconds since 1970; that it is so follows from media_names, but not since when
  refused TEXT -- the host, with its scheme, if no fetch was allowed to ask it
) STRICT, WITHOUT ROWID;
CREATE INDEX media_by_file ON media (file);
CREATE INDEX media_refused ON media (refused) WHERE refused IS NOT NULL;
CREATE INDEX media_unlinked ON media (url) WHERE linked_file IS DISTINCT FROM file;
CREATE INDEX media_unnamed ON media (url) WHERE unnamed_since IS NOT NULL;
CREATE INDEX media_failed ON media (url) WHERE coalesce(file, refused) IS NULL;

-- What pages need to know of a copy, whatever addresses it has.
CREATE TABLE copies (
  file TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL,
  width INTEGER, -- in pixels; NULL: not measured
  height INTEGER,
  color TEXT, -- the mean, 'rrggbb'; NULL where the picture lets its background through
  small TEXT, -- the widths of its small WebP files with the start of their hashes, such as '240:0f3a 480:77b1'
  tries INTEGER NOT NULL DEFAULT 0 -- how often decoding it was begun and came to nothing; after the third time it is left alone
) STRICT, WITHOUT ROWID;
CREATE INDEX copies_unmeasured ON copies (file)
  WHERE (width IS NULL OR width > 240 AND substr(coalesce(small, ''), 1, 4) <> '240:') AND tries < 3
  AND substr(file, 66) IN ('jpg', 'png', 'gif', 'webp', 'avif');

-- DERIVED from it, for the users that a change touches, in its transaction (src/stores/sql/derive.ts).

CREATE TABLE lists (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  user_key TEXT NOT NULL,
  collection TEXT NOT NULL, -- the one member of the body
  owner INTEGER NOT NULL,
  etag TEXT NOT NULL, -- of the list itself, whatever it is called
  body BLOB NOT NULL, -- '{"Shots":[{…},{…}]}', newest first; gzip if that has 1,024 bytes or more
  words TEXT, -- what the user is found by besides the words of the profile, a JSON array made of the tags by the program; NULL if there are none, and where another list of the user has them
  UNIQUE (family, user_key, collection),
  UNIQUE (family, owner, collection)
) STRICT;

CREATE TABLE words (
  family TEXT NOT NULL,
  word TEXT NOT NULL,
  id INTEGER NOT NULL, -- of the profile
  PRIMARY KEY (family, word, id)
) STRICT, WITHOUT ROWID;
CREATE VIEW words_of_profiles AS SELECT family, value AS word, profiles.id AS id
  FROM profiles CROSS JOIN json_each(words);

-- Which record names which address, so that it is known whose answers a copy changes, and when no record names it any more. It is of no
-- use while `media` is empty, and complete from then on.
CREATE TABLE media_names (
  url TEXT NOT NULL,
  kind TEXT NOT NULL, -- of the record, as in `counts`
  id INTEGER NOT NULL, -- of the record
  is_file INTEGER NOT NULL, -- 1: an attachment or audio, which only --files fetches
  PRIMARY KEY (url, kind, id, is_file)
) STRICT, WITHOUT ROWID;

-- How many records there are of each kind: counting a million takes seconds.
CREATE TABLE counts (
  kind TEXT PRIMARY KEY,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counts VALUES ('microblog profile', 0), ('post', 0), ('portfolio profile', 0), ('shot', 0);

-- Who changed, since what was answered before is gone once it is written over. Each number is the generation that the last change replaced: a subscriber that knows the data as of generation G needs the
-- rows with G or more.
CREATE TABLE changes (
  family TEXT NOT NULL,
  user_key TEXT NOT NULL,
  profile INTEGER, -- when the profile changed; NULL if only the list or older items did
  list INTEGER,
  generation INTEGER, -- the latest of all, also of changes of items that are too old for the list
  username TEXT, -- as it was imported, before the profile changed
  PRIMARY KEY (family, user_key)
) STRICT, WITHOUT ROWID;

-- WHO KNOWS WHAT. None of it follows from the records: each line says why.

-- One row. A server has nothing to serve before the generation is above 0.
CREATE TABLE vitrine (
  generation INTEGER NOT NULL, -- when the data changed last, in microseconds since 1970
  media_url TEXT, -- what the addresses of copies begin with
  last_run INTEGER NOT NULL DEFAULT 0, -- when an import was committed last: one that changed nothing leaves no other sign
  erase_before INTEGER, -- set while a takedown has left names in `changes`: the generation that all subscribers must know of before they are erased
  shape TEXT NOT NULL DEFAULT '{"fields":{"microblog profile":["totalFollowers","totalFollowing","totalFavs","totalPost","id","username","name","location","country","website","bio","avatar","avatar_large","verified","cover_image","cover_large"],"post":["id","token_id","post_details","photo","video_code","video_title","video_site","video_url","user","status","video_thumbnail","date","status_general","url_audio","title_audio","thumbnail_song"],"portfolio profile":["totalFollowers","totalFollowing","Likes","totalShots","Lists","Listed","Projects","id","username","name","location","social_link","website","bio","skills","avatar","type_account","cover_image"],"shot":["id","id_project","created_project","image","large_image","token_id","description","title","user_id","status","tags","date","attachment","url_purchased","price_item"]},"lists":["posts","Shots","Posts"]}',
  holds_traces INTEGER NOT NULL DEFAULT 0, -- 1: earlier versions have left deleted data in unused space, which SQL cannot read
  erased_before INTEGER NOT NULL DEFAULT 0 -- the generation of the last takedown that has erased names in `changes`: what was erased cannot be told from what never was
) STRICT;
INSERT INTO vitrine (generation) VALUES (0);

-- Earlier generations since which all changes are known, since a number alone may be that of another database.
CREATE TABLE generations (
  generation INTEGER PRIMARY KEY
) STRICT;

-- Who is told of changes, and up to which generation they were: only they know it beside us. It is negative where the last
-- notification did not arrive, and 0 where none has. `media fetch` is among them: it alone knows what it has looked at.
CREATE TABLE subscribers (
  name TEXT PRIMARY KEY,
  generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The program adds views that show the members of records as columns, for people with an SQL tool: microblog_profiles, posts,
-- portfolio_profiles and shots (src/stores/sql/shape.ts).
