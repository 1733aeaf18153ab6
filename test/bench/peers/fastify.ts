// Bare Fastify that sends one response, whatever user is asked for.
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';

const { status, headers, body } = JSON.parse(readFileSync(process.env.ANSWER as string, 'utf8'));
const pairs: [string, string][] = [];
for (let i = 0; i < headers.length; i += 2) pairs.push([headers[i], headers[i + 1]]);
const always = Object.fromEntries(pairs);
const bytes = Buffer.from(body, 'base64');

const app = Fastify({ keepAliveTimeout: 65_000 });
app.get('/a/api/', (_request, reply) => {
  reply.code(status).headers(always).send(bytes);
});
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
