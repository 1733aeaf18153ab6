-- What is served is stored compressed as well, beside its text (src/stores/packing.ts). `packed` is NULL where the text is
-- short, and until the end of the change that wrote the text: each index holds what is yet to be packed, which is nothing
-- between two changes. pack() is a function of the program.

ALTER TABLE profiles ADD COLUMN packed BLOB;
UPDATE profiles SET packed = pack(coalesce(served, record)) WHERE octet_length(coalesce(served, record)) >= 1024;
CREATE INDEX profiles_unpacked ON profiles (n) WHERE packed IS NULL AND octet_length(coalesce(served, record)) >= 1024;

-- The packed list stands before its text, so that whoever reads it does not read the text's pages.
ALTER TABLE lists RENAME TO lists_6;

CREATE TABLE lists (
  n INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  user_key TEXT NOT NULL,
  owner INTEGER NOT NULL,
  etag TEXT NOT NULL,
  packed BLOB,
  items TEXT NOT NULL, -- '[{…},{…}]', newest first
  UNIQUE (family, user_key),
  UNIQUE (family, owner)
) STRICT;

INSERT INTO lists
  SELECT n, family, user_key, owner, etag, CASE WHEN octet_length(items) >= 1024 THEN pack(items) END, items
  FROM lists_6 ORDER BY n;

DROP TABLE lists_6;

CREATE INDEX lists_unpacked ON lists (n) WHERE packed IS NULL AND octet_length(items) >= 1024;
