-- What users are found by (src/records/search-words.ts): the user name, and the name from each of its words on, folded. words_of() is
-- a function of the program.

ALTER TABLE profiles ADD COLUMN words TEXT NOT NULL DEFAULT '[]'; -- a JSON array
UPDATE profiles SET words = words_of(record ->> 'username', record ->> 'name');

CREATE TABLE words (
  family TEXT NOT NULL,
  word TEXT NOT NULL,
  id INTEGER NOT NULL, -- of the profile
  PRIMARY KEY (family, word, id)
) STRICT, WITHOUT ROWID;

CREATE VIEW words_of_profiles AS SELECT family, value AS word, profiles.id AS id
  FROM profiles CROSS JOIN json_each(words);
INSERT INTO words SELECT family, word, id FROM words_of_profiles ORDER BY family, word, id;

-- The first import fills the table at its end.
CREATE TRIGGER words_added AFTER INSERT ON profiles WHEN (SELECT generation FROM vitrine) > 0 BEGIN
  INSERT OR IGNORE INTO words SELECT NEW.family, value, NEW.id FROM json_each(NEW.words);
END;

CREATE TRIGGER words_updated AFTER UPDATE OF words ON profiles WHEN OLD.words <> NEW.words BEGIN
  DELETE FROM words WHERE family = OLD.family AND word IN (SELECT value FROM json_each(OLD.words)) AND id = OLD.id;
  INSERT OR IGNORE INTO words SELECT NEW.family, value, NEW.id FROM json_each(NEW.words);
END;

CREATE TRIGGER words_removed AFTER DELETE ON profiles BEGIN
  DELETE FROM words WHERE family = OLD.family AND word IN (SELECT value FROM json_each(OLD.words)) AND id = OLD.id;
END;
