// The least that Fastify with TypeBox has to load: one route, typed by the type provider, validated by TypeBox's compiler.
import { Type, type TypeBoxTypeProvider, TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox';
import Fastify from 'fastify';

const Query = Type.Object({ user: Type.String() });
const Body = Type.Object({ user: Type.String() });

const app = Fastify().setValidatorCompiler(TypeBoxValidatorCompiler).withTypeProvider<TypeBoxTypeProvider>();
app.get('/a/api/', { schema: { querystring: Query, response: { 200: Body } } }, (request) => request.query);
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });

// An orderly exit keeps the compile cache.
process.once('SIGTERM', () => app.close());
