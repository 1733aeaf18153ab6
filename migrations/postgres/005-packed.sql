-- What is served is stored compressed as well. Migration 9 fills `packed`, and makes lists of whole bodies.

ALTER TABLE profiles ADD COLUMN packed bytea;
ALTER TABLE profiles ALTER COLUMN packed SET STORAGE EXTERNAL;
CREATE INDEX profiles_unpacked ON profiles (id)
  WHERE packed IS NULL AND octet_length(coalesce(served, record)) >= 1024;
