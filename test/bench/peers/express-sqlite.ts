// Variant A as it would be written by hand with Express and better-sqlite3.
import Database from 'better-sqlite3';
import express from 'express';
import { ITEMS_OF_USER, PROFILE_BY_NAME } from './queries.ts';

const db = new Database(process.env.DATABASE as string, { readonly: true });
const profile = db.prepare(PROFILE_BY_NAME);
const items = db.prepare(ITEMS_OF_USER);

const app = express();
app.disable('x-powered-by');
app.get('/a/api/', (request: { query: { user: string; post?: string } }, response: Response) => {
  const { user, post } = request.query;
  const found = profile.get(user) as { id: string } | undefined;
  if (found === undefined) return response.status(404).json({ error: 'no such user' });
  return response.json(post === 'true' ? { posts: items.all(found.id) } : found);
});
app.listen(Number(process.env.PORT), '127.0.0.1');

interface Response {
  status(code: number): Response;
  json(value: unknown): void;
}
