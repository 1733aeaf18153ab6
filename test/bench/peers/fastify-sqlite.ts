// Variant A as it would be written by hand with Fastify, TypeBox and better-sqlite3, responses serialised by schema.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import Database from 'better-sqlite3';
import Fastify from 'fastify';
import { ITEMS_OF_USER, POST_MEMBERS, PROFILE_BY_NAME, PROFILE_MEMBERS } from './queries.ts';

const db = new Database(process.env.DATABASE as string, { readonly: true });
const profile = db.prepare(PROFILE_BY_NAME);
const items = db.prepare(ITEMS_OF_USER);

const texts = (members: readonly string[]) =>
  Type.Object(Object.fromEntries(members.map((name) => [name, Type.String()])));
const Query = Type.Object({ user: Type.String(), post: Type.Optional(Type.Literal('true')) });
const Profile = texts(PROFILE_MEMBERS);
const Items = Type.Object({ posts: Type.Array(texts(POST_MEMBERS)) });

const routes: FastifyPluginCallbackTypebox = (app, _options, done) => {
  app.get('/a/api/', { schema: { querystring: Query } }, (request, reply) => {
    const { user, post } = request.query;
    const found = profile.get(user) as { id: string } | undefined;
    if (found === undefined) return reply.callNotFound();
    reply.type('application/json; charset=utf-8');
    if (post === undefined) return reply.serializer(reply.compileSerializationSchema(Profile)).send(found);
    return reply.serializer(reply.compileSerializationSchema(Items)).send({ posts: items.all(found.id) });
  });
  done();
};

const app = Fastify();
app.register(routes);
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
