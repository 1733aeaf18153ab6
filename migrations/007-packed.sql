-- What is served is stored compressed as well. Migration 011 fills `packed`, and makes lists of whole bodies.

ALTER TABLE profiles ADD COLUMN packed BLOB;
CREATE INDEX profiles_unpacked ON profiles (n) WHERE packed IS NULL AND octet_length(coalesce(served, record)) >= 1024;
