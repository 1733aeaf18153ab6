-- What `vitrine media fetch` needs so that it looks only at what changed (src/stores/sql/fetches.ts).

-- Counts how often pages learned something else of a copy that was linked before.
ALTER TABLE vitrine ADD COLUMN measured bigint NOT NULL DEFAULT 0;

ALTER TABLE media ADD COLUMN refused text COLLATE "C"; -- the host, with its scheme, if no fetch was allowed to ask it
CREATE INDEX media_refused ON media (refused) WHERE refused IS NOT NULL;
CREATE INDEX media_unlinked ON media (url) WHERE linked_file IS DISTINCT FROM file;

-- All addresses of a copy have what is known of it. Without the index, each address reads all others of its file.
CREATE INDEX media_measured ON media (file) WHERE width IS NOT NULL;
UPDATE media SET (width, height, color, small) = (
  SELECT width, height, color, small FROM media AS other WHERE other.file = media.file AND other.width IS NOT NULL LIMIT 1)
WHERE file IS NOT NULL AND width IS NULL;
CREATE INDEX media_unmeasured ON media (file)
  WHERE coalesce(width, 0) = 0 AND coalesce(height, 0) < 3 AND substr(file, 66) IN ('jpg', 'png', 'gif', 'webp', 'avif');
