// Variant A as it would be written by hand with Express and pg: the database makes the JSON, as PostgREST has it do.
import express from 'express';
import pg from 'pg';
import { parsePostgresUrl } from '../../../src/config/database-url.ts';
import { POST_MEMBERS, PROFILE_MEMBERS } from './queries.ts';

const { hosts, user, database } = parsePostgresUrl(process.env.DATABASE_URL as string);
const pool = new pg.Pool({ host: hosts[0]?.host, port: hosts[0]?.port, user, database, max: 10 });

const object = (table: string, members: readonly string[]) =>
  `json_build_object(${members.map((member) => `'${member}', ${table}."${member}"::text`).join(', ')})`;
const PROFILE = `SELECT ${object('profiles', PROFILE_MEMBERS)}::text AS body FROM ordinary.profiles WHERE lower(username) = lower($1)`;
const ITEMS = `SELECT json_build_object('posts', coalesce(json_agg(${object('newest', POST_MEMBERS)}), '[]'))::text AS body FROM (
  SELECT posts.* FROM ordinary.posts JOIN ordinary.profiles ON posts."user" = profiles.id
  WHERE lower(username) = lower($1) ORDER BY posts.date DESC, posts.id DESC LIMIT 15) AS newest`;

const app = express();
app.disable('x-powered-by');
app.get('/a/api/', async (request: { query: { user: string; post?: string } }, response: Response) => {
  const { user, post } = request.query;
  const query = post === 'true' ? { name: 'items', text: ITEMS } : { name: 'profile', text: PROFILE };
  const { rows } = await pool.query({ ...query, values: [user] });
  if (rows[0] === undefined) return response.status(404).json({ error: 'no such user' });
  return response.type('json').send(rows[0].body);
});
app.listen(Number(process.env.PORT), '127.0.0.1');

interface Response {
  status(code: number): Response;
  type(name: string): Response;
  send(text: string): void;
  json(value: unknown): void;
}
