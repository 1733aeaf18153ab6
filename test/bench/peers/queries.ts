// The ordinary tables of the hand-written peers: a column for each member, and an index for the newest items of a user.
import { MicroblogProfile, Post } from '../../../src/records/schemas.ts';

export const PROFILE_MEMBERS = Object.keys(MicroblogProfile.properties);
export const POST_MEMBERS = Object.keys(Post.properties);

const columns = (members: readonly string[]) => members.map((member) => `"${member}"`).join(', ');
const typed = (members: readonly string[]) =>
  members
    .map((member) =>
      member === 'id'
        ? '"id" INTEGER PRIMARY KEY'
        : `"${member}" ${member === 'user' ? 'INTEGER' : 'TEXT'} NOT NULL`,
    )
    .join(', ');
/** Ids are numbers in the table, and texts on the wire. */
const selected = (members: readonly string[]) =>
  members
    .map((member) =>
      member === 'id' || member === 'user' ? `CAST("${member}" AS TEXT) AS "${member}"` : `"${member}"`,
    )
    .join(', ');
const inserted = (table: string, members: readonly string[]) =>
  `INSERT INTO ${table} (${columns(members)}) VALUES (${members.map(() => '?').join(', ')})`;

export const TABLES = `
  CREATE TABLE profiles (${typed(PROFILE_MEMBERS)});
  CREATE TABLE posts (${typed(POST_MEMBERS)});
  CREATE UNIQUE INDEX profiles_by_name ON profiles (username COLLATE NOCASE);
  CREATE INDEX posts_by_user ON posts (user, date DESC, id DESC)`;
export const ADD_PROFILE = inserted('profiles', PROFILE_MEMBERS);
export const ADD_POST = inserted('posts', POST_MEMBERS);
export const PROFILE_BY_NAME = `SELECT ${selected(PROFILE_MEMBERS)} FROM profiles WHERE username = ? COLLATE NOCASE`;
export const ITEMS_OF_USER = `SELECT ${selected(POST_MEMBERS)} FROM posts WHERE user = ? ORDER BY posts.date DESC, posts.id DESC LIMIT 15`;
