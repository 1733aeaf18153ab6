-- Where copies of deleted data may lie (src/stores/sqlite/traces.ts).

-- Changes with pages that were not swept.
CREATE TABLE unswept (
  n INTEGER PRIMARY KEY AUTOINCREMENT
) STRICT;

-- The version of the schema when the whole file was swept last. VACUUM raises it.
ALTER TABLE vitrine ADD COLUMN swept_schema INTEGER;
