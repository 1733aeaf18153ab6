-- What is served is stored compressed as well, beside its text (src/stores/packing.ts). `packed` is NULL where the text is
-- short, and until the end of the change that wrote the text: each index holds what is yet to be packed, which is nothing
-- between two changes. The program packs what is there already.

ALTER TABLE profiles ADD COLUMN packed bytea;
ALTER TABLE lists ADD COLUMN packed bytea;
ALTER TABLE profiles ALTER COLUMN packed SET STORAGE EXTERNAL;
ALTER TABLE lists ALTER COLUMN packed SET STORAGE EXTERNAL;

CREATE INDEX profiles_unpacked ON profiles (id)
  WHERE packed IS NULL AND octet_length(coalesce(served, record)) >= 1024;
CREATE INDEX lists_unpacked ON lists (owner) WHERE packed IS NULL AND octet_length(items) >= 1024;
