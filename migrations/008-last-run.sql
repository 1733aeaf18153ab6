-- When an import was committed last, also one that changed nothing: in microseconds since 1970.

ALTER TABLE vitrine ADD COLUMN last_run INTEGER NOT NULL DEFAULT 0;
UPDATE vitrine SET last_run = generation;
