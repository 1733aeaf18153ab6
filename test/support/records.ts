// Minimal valid records: the required members, and one that distinguishes the two profile types.
import type { Raw } from './expected.ts';

type Id = number | string;

export const blog = (id: Id, username: string, more: Raw = {}): Raw => ({
  totalPost: '0',
  id: String(id),
  username,
  ...more,
});

export const folio = (id: Id, username: string, more: Raw = {}): Raw => ({
  totalShots: '0',
  id: String(id),
  username,
  ...more,
});

export const post = (id: Id, user: Id, more: Raw = {}): Raw => ({
  id: String(id),
  user: String(user),
  date: '2024-01-01 00:00:00',
  ...more,
});

export const shot = (id: Id, user: Id, more: Raw = {}): Raw => ({
  id: String(id),
  user_id: String(user),
  date: '2024-01-01 00:00:00',
  ...more,
});
