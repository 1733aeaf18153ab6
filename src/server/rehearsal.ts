// `serve --rehearse`: answers that are slow, fail or are empty, for front-ends to be tried against. Loaded with that option
// only. To take it out, delete this file and what "rehears" is found in.

import { createHash, randomInt } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_CODES, type ErrorCode, FAILURES, sendFailure } from '../api/http/errors.ts';
import { JSON_TYPE } from '../api/http/headers.ts';
import { findOperation } from '../api/http/observations.ts';
import { describeData, isPostgresUrl } from '../config/database-url.ts';
import { ConfigError, Mistake } from '../config/setting-values.ts';
import type { Config, Rehearsal } from '../config/settings.ts';
import { findKind } from '../records/kinds.ts';
import { normalise } from '../records/normalise.ts';
import { brief } from '../records/printable.ts';
import { errorMessage } from '../records/thrown.ts';
import { VARIANTS } from '../variants.ts';
import { findConnection } from './edge/connection.ts';

/** Milliseconds; a request that times out is closed after them, unless the client gives up before. */
const LONGEST_DELAY = 60_000;
/** Addresses with counted requests; beyond them, counting begins again. */
const MOST_ADDRESSES = 10_000;
const USUAL_FAILURES = '500,503,429,reset';
const MANNERS = ['timeout', 'reset', 'truncate', 'empty'] as const;
const EFFECTS = `a status such as 503, a code such as USER_GONE, ${MANNERS.join(', ')}`;

/** Milliseconds, by two random numbers from 0 to 1. */
type Delay = (one: number, other: number) => number;
type Effect = ErrorCode | (typeof MANNERS)[number];

/** What a request meets instead of its answer. */
interface Wish {
  readonly delay?: Delay | undefined;
  readonly effect?: Effect | undefined;
}

/** With the numbers from 0 to 1 that the request has by the seed. */
type Planned = Wish & { readonly random: (index: number) => number };

type RehearsalOptions = Rehearsal & Pick<Config, 'rateLimit'>;

function parseDelay(text: string): Delay {
  const [, mean, deviation] = /^normal:(\d+),(\d+)$/.exec(text) ?? [];
  const [, least = mean, most = least] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  if (least === undefined || Number(most) < Number(least) || Number(most) > LONGEST_DELAY)
    throw new Mistake(`takes milliseconds up to ${LONGEST_DELAY}: 500, 300-800 or normal:400,120`);
  if (deviation === undefined) return (one) => Number(least) + one * (Number(most) - Number(least));
  return (one, other) => {
    // Box and Muller's transform.
    const distance = Math.sqrt(-2 * Math.log(1 - one)) * Math.cos(2 * Math.PI * other);
    return Math.min(Math.max(Number(mean) + Number(deviation) * distance, 0), LONGEST_DELAY);
  };
}

function parseFail(text: string): { readonly share: number; readonly effects: readonly Effect[] } {
  const [, percent, list = USUAL_FAILURES] = /^(\d+(?:\.\d+)?)%(?::(.*))?$/.exec(text) ?? [];
  if (percent === undefined || Number(percent) > 100)
    throw new Mistake('takes a share and what happens, such as 5% or 5%:503,429,timeout,reset,truncate');
  return { share: Number(percent) / 100, effects: list.split(',').map(parseEffect) };
}

/** A status stands for the first error that has it. */
function parseEffect(text: string): Effect {
  const code = ERROR_CODES.find((each) => each === text || String(FAILURES[each].status) === text);
  const effect = code ?? MANNERS.find((each) => each === text);
  if (effect === undefined) throw new Mistake(`takes ${EFFECTS}; not ${brief(text)}`);
  return effect;
}

/** Of one request: `delay=2000, status=503`. */
function parseWish(text: string): Wish {
  let wish: Wish = {};
  for (const part of text.split(/[,;]\s*(?=[a-z])/i)) {
    const [name = '', value = ''] = part.trim().split(/=(.*)/);
    if (name === 'delay') wish = { ...wish, delay: parseDelay(value) };
    else wish = { ...wish, effect: parseEffect(name === 'status' ? value : part.trim()) };
  }
  return wish;
}

/** Adds the hooks of a rehearsal; before any route. */
export function rehearse(app: Pick<FastifyInstance, 'addHook'>, options: RehearsalOptions): void {
  const plan = createPlan(options);
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  // Requests that are wrong have their real errors by now.
  app.addHook('preHandler', async (request, reply) => {
    try {
      const { random, ...planned } = plan(request);
      const wish = readWish(request) ?? planned;
      await wait(wish.delay?.(random(0), random(1)) ?? 0);
      return meet(request, reply, wish.effect, options);
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      const body = JSON.parse(FAILURES.BAD_REQUEST.body.toString());
      reply.code(400).type(JSON_TYPE);
      return reply.send(Buffer.from(JSON.stringify({ ...body, message: `X-Rehearse ${error.message}` })));
    }
  });
}

/** What the request itself asks for: a header, or a query member where there are no headers. No schema has that member. */
function readWish({ headers, query }: FastifyRequest): Wish | undefined {
  const asked = [headers['x-rehearse'], (query as { _rehearse?: string | string[] })._rehearse];
  const texts = asked.flat().filter((text) => typeof text === 'string' && text !== '');
  return texts.length === 0 ? undefined : parseWish(texts.join(','));
}

/** What happens to lookups and pictures, by seed, address and its count of requests: their order may vary. */
function createPlan({ delay = '0', fail = '0%', seed }: Rehearsal): (request: FastifyRequest) => Planned {
  const takeDelay = parseDelay(delay);
  const { share, effects } = parseFail(fail);
  const counts = new Map<string, number>();
  return (request) => {
    const nth = (counts.get(request.url) ?? 0) + 1;
    if (counts.size >= MOST_ADDRESSES) counts.clear();
    counts.set(request.url, nth);
    const hash = createHash('sha256').update(`${seed} ${nth} ${request.url}`).digest();
    const random = (index: number) => hash.readUInt32LE(4 * index) / 2 ** 32;
    if (!isLookupOrPicture(request)) return { random };
    const effect = random(2) < share ? effects[Math.floor(random(3) * effects.length)] : undefined;
    return { random, delay: takeDelay, effect };
  };
}

const isLookupOrPicture = (request: FastifyRequest) =>
  ['profile', 'items', 'media'].includes(findOperation(request).name) ||
  request.routeOptions.url === '/samples/:picture';

function meet(
  request: FastifyRequest,
  reply: FastifyReply,
  effect: Effect | undefined,
  options: RehearsalOptions,
): FastifyReply | undefined {
  if (effect === 'empty') return sendEmpty(request, reply);
  if (effect === 'truncate') cutBody(reply.raw);
  else if (effect === 'reset' || effect === 'timeout') {
    reply.hijack();
    if (effect === 'reset') afterEarlier(reply.raw, () => request.socket.resetAndDestroy());
    else setTimeout(() => request.socket.destroy(), LONGEST_DELAY).unref();
  } else if (effect !== undefined) return sendRehearsed(reply, effect, options);
  return undefined;
}

/** Answers to earlier requests of the connection are sent first. */
function afterEarlier(response: ServerResponse, act: () => void): void {
  const { owed } = findConnection(response.req.socket);
  const before = owed[owed.indexOf(response) - 1];
  if (before === undefined) act();
  else before.once('close', act);
}

/** The error with the headers that it has when it is real. */
function sendRehearsed(reply: FastifyReply, code: ErrorCode, { rateLimit }: RehearsalOptions): FastifyReply {
  // It is logged, and its answer names the line.
  if (code === 'INTERNAL') throw new Error('rehearsed: X-Rehearse or --fail asked for this error');
  const { requests, window } = rateLimit ?? { requests: 100, window: 60_000 };
  if (code === 'RATE_LIMITED')
    reply.headers({
      'ratelimit-policy': `"default";q=${requests};w=${Math.ceil(window / 1000)}`,
      ratelimit: '"default";r=0;t=1',
      'retry-after': '1',
    });
  if (code === 'RANGE_NOT_SATISFIABLE') reply.header('content-range', 'bytes */0');
  if (LAST.includes(code)) reply.header('connection', 'close');
  return sendFailure(reply, code);
}

/** After them, it is not known where the next request begins: see server/edge/http-server.ts. */
const LAST: readonly ErrorCode[] = [
  'BAD_REQUEST',
  'HOST_MISSING',
  'REQUEST_TIMEOUT',
  'URI_TOO_LONG',
  'EXPECTATION_FAILED',
  'HEADERS_TOO_LARGE',
];

// What the routes of both styles have checked.
const UserInPath = Type.Object({ username: Type.String() });
const UserInQuery = Type.Object({ user: Type.String() });

/** A list without items, or a profile with nothing but its name. Anything else is answered as it is. */
function sendEmpty(request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
  const { variant, name } = findOperation(request);
  const { query, params } = request;
  const username = Value.Check(UserInPath, params)
    ? params.username
    : Value.Check(UserInQuery, query) && query.user;
  if (variant === 'none' || username === false) return undefined;
  const { family, collection } = VARIANTS[variant];
  const profile = normalise({ id: '1', username }, findKind(family, 'profile'));
  const record = 'row' in profile ? profile.row.record : '{}';
  const body = name === 'items' ? JSON.stringify({ [collection]: [] }) : record;
  return reply.type(JSON_TYPE).send(Buffer.from(body));
}

/** Half of the body is sent, with the headers of the whole. */
function cutBody(response: ServerResponse): void {
  const { write, end } = response;
  function cut(this: ServerResponse, chunk?: unknown) {
    const isBody = (typeof chunk === 'string' || Buffer.isBuffer(chunk)) && this.req.method !== 'HEAD';
    if (!isBody) return end.call(this, chunk, 'utf8');
    return write.call(this, chunk.slice(0, chunk.length / 2), 'utf8', () => this.destroy());
  }
  Object.assign(response, { write: cut, end: cut });
}

// The settings of a rehearsal, which is refused where real clients could meet it.

export interface RehearsalFlags {
  readonly delay?: string | undefined;
  readonly fail?: string | undefined;
  readonly seed?: number | undefined;
  readonly yes: boolean;
}

/** Without a seed, the log names a new one, so that the run can be repeated. */
export function prepareRehearsal(
  config: Config,
  { delay, fail, seed = randomInt(1_000_000), yes }: RehearsalFlags,
  environment: Record<string, string | undefined>,
): { config: Config; notes: string[] } {
  const { host, databaseUrl = '' } = config;
  const isLocal = /^(localhost|127\.[\d.]+|::1|\/.*)$/i.test(host) && !environment.LISTEN_FDS;
  const mistakes = [
    environment.NODE_ENV === 'production' && '--rehearse is refused with NODE_ENV=production',
    isPostgresUrl(databaseUrl) &&
      `--rehearse serves files, samples or a SQLite database, not ${describeData(config)}`,
    !isLocal && !yes && `--rehearse is refused at a public address, as ${host} may be: --yes allows it`,
    delay !== undefined && findMistake('--delay', parseDelay, delay),
    fail !== undefined && findMistake('--fail', parseFail, fail),
  ].filter((mistake) => typeof mistake === 'string');
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const planned = [delay && `--delay ${delay}`, fail && `--fail ${fail}`, `--seed ${seed}`].filter(Boolean);
  return {
    config: { ...config, ...UNCACHED, workers: 1, rehearsal: { delay, fail, seed } },
    notes: [
      `rehearsal, not for real clients: ${planned.join(' ')}`,
      ...(config.workers > 1 ? ['one process rehearses: WORKERS has no effect'] : []),
    ],
  };
}

/** Stored answers are written past the hooks. */
const UNCACHED = { cacheControl: 'no-store', purge: [] };

function findMistake(flag: string, parse: (text: string) => unknown, text: string): string | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    return `${flag} ${errorMessage(error)}`;
  }
}
