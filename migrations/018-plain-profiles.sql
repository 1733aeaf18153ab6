-- Few profiles have 1,024 bytes: they are sent as they are.
ALTER TABLE profiles DROP COLUMN packed;
