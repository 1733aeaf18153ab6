-- What users are found by (src/records/search-words.ts): the user name, and the name from each of its words on, folded. The program
-- fills the column after this (src/stores/postgres/migrate.ts), and the triggers the table.

ALTER TABLE profiles ADD COLUMN words text NOT NULL DEFAULT '[]'; -- a JSON array

CREATE TABLE words (
  family text NOT NULL,
  word text COLLATE "C" NOT NULL,
  id bigint NOT NULL, -- of the profile
  PRIMARY KEY (family, word, id)
);

CREATE VIEW words_of_profiles AS
  SELECT family, word, id FROM profiles CROSS JOIN json_array_elements_text(words::json) AS each (word);

-- The first import fills the table at its end.
CREATE FUNCTION update_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM words WHERE family = OLD.family AND id = OLD.id
    AND word = ANY (ARRAY(SELECT json_array_elements_text(OLD.words::json)));
  END IF;
  IF TG_OP = 'UPDATE' OR (TG_OP = 'INSERT' AND (SELECT generation FROM vitrine) > 0) THEN
    INSERT INTO words SELECT NEW.family, json_array_elements_text(NEW.words::json), NEW.id ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER words_changed AFTER INSERT OR DELETE ON profiles
  FOR EACH ROW EXECUTE FUNCTION update_words();
CREATE TRIGGER words_updated AFTER UPDATE OF words ON profiles
  FOR EACH ROW WHEN (OLD.words <> NEW.words) EXECUTE FUNCTION update_words();

-- Roles that may read the items may read the words.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl) WHERE oid = 'items'::regclass AND privilege_type = 'SELECT'
  LOOP
    EXECUTE 'GRANT SELECT ON words, words_of_profiles TO ' || reader;
  END LOOP;
END $$;
