-- Records name pictures by their original addresses. What is served names our copy of a picture where there is one.

CREATE TABLE media (
  url TEXT PRIMARY KEY, -- the original address
  file TEXT, -- the copy, '{sha256}.{extension}'; NULL if it could not be had
  bytes INTEGER NOT NULL,
  reason TEXT, -- why there is no copy
  linked_file TEXT, -- the copy that is named in what is served
  unnamed_since INTEGER -- when it was found that no record names the address any more, in seconds since 1970
) STRICT, WITHOUT ROWID;

CREATE INDEX media_by_file ON media (file);

ALTER TABLE profiles ADD COLUMN served TEXT; -- the record with the addresses of copies; NULL: the record as it is
ALTER TABLE vitrine ADD COLUMN media_url TEXT; -- what the addresses of copies begin with
