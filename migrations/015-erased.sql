-- The generation of the last takedown that has erased names in `changes`. Changes since an earlier one lack the users who are gone.
ALTER TABLE vitrine ADD COLUMN erased_before INTEGER NOT NULL DEFAULT 0;
