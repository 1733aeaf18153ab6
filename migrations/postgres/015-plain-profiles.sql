-- Few profiles have 1,024 bytes: they are sent as they are.
DROP INDEX profiles_unpacked;
ALTER TABLE profiles DROP COLUMN packed;
DROP FUNCTION packed_of(text);
