// Fuzzing with well-formed and malformed requests: no 5xx, no hang, no crash, only strings in every body, and no change of the
// database.
import { statSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { databaseOf } from '../support/database.ts';
import { fixture, readRecords, stateOf, ugly } from '../support/files.ts';
import { ask, dial, hearOut } from '../support/http.ts';
import { type Server, startServer } from '../support/server.ts';
import { linesOf } from '../support/stress.ts';
import { type Request, rawBytes, requestsFor, written } from './fuzz-requests.ts';

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 2000);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const BATCH = 100;
const CONNECTIONS = Math.ceil(REQUESTS / 50);
const AT_ONCE = 4;
const HANG_MS = 120_000;
const LIMIT = 240_000 + REQUESTS * 20;
console.log(`fuzz: FUZZ_REQUESTS=${REQUESTS} FUZZ_SEED=${SEED}`);

const FILES = [fixture('microblog.ndjson'), fixture('portfolio.ndjson'), ugly('hostile-names.ndjson')];
const NAMES = FILES.flatMap(readRecords).flatMap(({ username }) => (username as string | undefined) ?? []);

let server: Server;
let path: string;
let before: ReturnType<typeof stateOf>;
beforeAll(async () => {
  path = await databaseOf(...FILES);
  // On a busy machine the event loop may lag, so load shedding is off here.
  server = await startServer({
    DATABASE_URL: path,
    MAX_LOOP_DELAY: '0',
  });
  before = stateOf(path);
});

/** Everything the server sends until it closes the connection, or an error if it does not. */
async function exchange(bytes: Buffer, ending = false): Promise<Buffer> {
  const socket = await dial(server);
  const heard = hearOut(socket);
  socket.write(bytes);
  if (ending) socket.end();
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the server hangs')), HANG_MS);
  });
  return Promise.race([heard, hang]).finally(() => clearTimeout(timer));
}

const isText = (value: unknown) => typeof value === 'string';
const isFlat = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.values(value).every(isText);

/** Describes what is wrong with a body, which must be an object of strings or of one list of such objects. */
function faultOf(body: string): string | undefined {
  const value = JSON.parse(body);
  if (isFlat(value) && !Array.isArray(value) && Object.keys(value).length > 0) return undefined;
  const lists = Object.values(value);
  if (lists.length !== 1 || !Array.isArray(lists[0])) return 'neither an object of strings nor of one list';
  if (lists[0].length > 15) return `a list of ${lists[0].length}`;
  return lists[0].every(isFlat) ? undefined : 'an item that is no object of strings';
}

/** Checks the responses to these requests; returns how many came before the connection was closed. */
function judge(requests: readonly Request[], bytes: Buffer): number {
  let at = 0;
  for (const [index, asked] of requests.entries()) {
    const fail = (what: string): never => {
      throw new Error(
        `${what}\nasked: ${JSON.stringify(asked)}\ngot: ${bytes.toString('latin1', at, at + 2000)}`,
      );
    };
    if (at === bytes.length) return index;
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end === -1) fail('no end of the headers');
    const head = bytes.toString('latin1', at, end);
    const status = Number(/^HTTP\/1\.1 ([234]\d\d) \S/.exec(head)?.[1] ?? fail('an odd status'));
    const isBare = asked.method === 'HEAD' || status === 204 || status === 304;
    const length = isBare
      ? 0
      : Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? fail('no content-length'));
    const body = bytes.subarray(end + 4, end + 4 + length);
    const text = String(/\r\ncontent-encoding: gzip/.test(head) && !isBare ? gunzipSync(body) : body);
    // Pages and the OpenAPI document are not records.
    const isData = status >= 400 || /^(http:\/\/x\.example)?\/[a-z]\/api/.test(asked.path);
    if (!isBare && isData) {
      if (!head.includes('\r\ncontent-type: application/json; charset=utf-8')) fail('no JSON');
      const fault = faultOf(text);
      if (fault !== undefined) fail(fault);
    }
    at = end + 4 + length;
    if (/\r\nconnection: close/i.test(head) && at !== bytes.length) fail('more after the close');
  }
  if (at !== bytes.length)
    throw new Error(`more than was asked for: ${bytes.toString('latin1', at, at + 500)}`);
  return requests.length;
}

async function askAll(batch: readonly Request[]): Promise<void> {
  for (let rest = batch; rest.length > 0; ) {
    const text = rest.map((one, index) => written(one, index === rest.length - 1)).join('');
    const answered = judge(rest, await exchange(Buffer.from(text, 'latin1')));
    if (answered === 0) throw new Error(`no answer at all to ${JSON.stringify(rest[0])}`);
    rest = rest.slice(answered);
  }
}

const settings = { seed: SEED, endOnFailure: true };

describe('generated requests', () => {
  test(
    `${REQUESTS} requests`,
    async () => {
      const turn = fc.array(fc.array(requestsFor(NAMES), { minLength: BATCH, maxLength: BATCH }), {
        minLength: AT_ONCE,
        maxLength: AT_ONCE,
      });
      const property = fc.asyncProperty(turn, (batches) => Promise.all(batches.map(askAll)).then(() => {}));
      await fc.assert(property, { ...settings, numRuns: Math.ceil(REQUESTS / BATCH / AT_ONCE) });
    },
    LIMIT,
  );

  test(
    `${CONNECTIONS} connections of raw bytes`,
    async () => {
      const property = fc.asyncProperty(
        fc.array(rawBytes, { minLength: 20, maxLength: 20 }),
        async (many) => {
          await Promise.all(
            many.map(async (one) => {
              const text = (await exchange(one, true)).toString('latin1');
              if (!/^(HTTP\/1\.1 [1-4]\d\d |$)/.test(text) || /^HTTP\/1\.1 5\d\d /m.test(text))
                throw new Error(`sent ${JSON.stringify(one.toString('latin1'))}, got ${text}`);
              for (const [, body] of text.matchAll(/\r\n\r\n(\{"statusCode".*?\})/g))
                expect(faultOf(body as string)).toBeUndefined();
            }),
          );
        },
      );
      await fc.assert(property, { ...settings, numRuns: Math.ceil(CONNECTIONS / 20) });
    },
    LIMIT,
  );
});

test('the server still answers afterwards and has logged no error', async () => {
  expect(server.child.exitCode).toBeNull();
  expect((await ask(server, '/a/api/?user=ada')).status).toBe(200);
  expect((await ask(server, '/readyz')).status).toBe(200);
  expect(linesOf(server).filter(({ level }) => level > 40)).toEqual([]);
});

test('no request has changed the database, or left anything in its log', async () => {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  expect([stateOf(path), log]).toEqual([before, 0]);
  expect(await server.stop()).toBe(0);
  expect(stateOf(path)).toEqual(before);
});
