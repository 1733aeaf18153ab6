-- When the data changed last, in microseconds since 1970, as in PostgreSQL. It is 0 until the first import has committed;
-- a server has nothing to serve before.

CREATE TABLE vitrine (generation INTEGER NOT NULL) STRICT;

INSERT INTO vitrine SELECT EXISTS (SELECT 1 FROM profiles);
