-- Copies of pictures: what pages need to know of each, and which small ones there are (`vitrine media fetch` finds out).

ALTER TABLE media ADD COLUMN width integer; -- of the copy, in pixels; 0: it cannot be measured; NULL: not measured yet
ALTER TABLE media ADD COLUMN height integer;
ALTER TABLE media ADD COLUMN color text; -- the mean, 'rrggbb'; NULL where the picture lets its background through
ALTER TABLE media ADD COLUMN small text; -- the widths of its small WebP files, such as '480 960'
