// Another Fastify app, which serves the API as a part of itself and reads it with the types of the package.
import { argv } from 'node:process';
import Fastify from 'fastify';
import { vitrine } from 'vitrine';
import type { ApiError, ItemsB, PortfolioProfile } from 'vitrine/types';

const [, , database = ''] = argv;
const app = Fastify();
await app.register(vitrine, { database, variant: 'b', prefix: '/api' });
app.get('/own', async () => 'own');

const profile = (await app.inject('/api/username/ada')).json<PortfolioProfile>();
const { Shots } = (await app.inject('/api/username/ada/shots')).json<ItemsB>();
const missing = (await app.inject('/api/username/nobody')).json<ApiError>();
const own = await app.inject('/own');
const titles: string[] = Shots.map((shot) => shot.title);
console.log(JSON.stringify([profile.username, titles.length, missing.code, own.body]));
await app.close();
