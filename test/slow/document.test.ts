// The HTTP tests again: whatever they request, the response is as the server's own OpenAPI document says.
import { beforeAll, describe, expect, test } from 'vitest';
import { createDocumentJudge } from '../document-judge.ts';
import { exchange, json, judgeReplies, type Reply, startServer } from '../rig.ts';

type DocumentJudge = ReturnType<typeof createDocumentJudge>;
const judges = new Map<string, Promise<DocumentJudge | undefined>>();
const seen = new Map<string, number>();

/** The judge for a server; undefined if it has no document or is gone. */
function judgeOf(port: number, headers: Record<string, string>): Promise<DocumentJudge | undefined> {
  const { host = '' } = headers;
  const key = `${port} ${host}`;
  const known = judges.get(key);
  if (known !== undefined) return known;
  const found = exchange({ port }, '/openapi.json', host === '' ? {} : { headers: { host } }).then(
    (reply) => (reply.status === 200 ? createDocumentJudge(json(reply)) : undefined),
    () => undefined,
  );
  judges.set(key, found);
  return found;
}

judgeReplies(async ({ port }, path, options, reply) => {
  const judge = await judgeOf(port, options.headers ?? {});
  if (judge === undefined) return;
  expect([path, options, judge.faultOf(path, options, reply)]).toEqual([path, options, undefined]);
  const what = judge.knows(path) ? String(reply.status) : 'elsewhere';
  seen.set(what, (seen.get(what) ?? 0) + 1);
});

await import('../variants.test.ts');
await import('../hostile.test.ts');
await import('../conditional.test.ts');
await import('../refusals.test.ts');
await import('../base-urls.test.ts');

test('responses of many kinds were held against the document', () => {
  const few = ['200', '304', '400', '404', '405', '414'].filter((status) => (seen.get(status) ?? 0) < 30);
  expect(few).toEqual([]);
});

describe('a deviation is found:', () => {
  const ADA = '/b/api/username/ada';
  let judge: DocumentJudge;
  let good: Reply;
  beforeAll(async () => {
    const server = await startServer();
    judge = createDocumentJudge(json(await exchange(server, '/openapi.json')));
    good = await exchange(server, ADA);
  });

  const DEVIATIONS: [what: string, path: string, change: (reply: Reply) => Reply][] = [
    ['a status', ADA, (reply) => ({ ...reply, status: 418 })],
    ['no ETag', ADA, ({ headers: { etag: _, ...headers }, ...reply }) => ({ ...reply, headers })],
    ['a number', ADA, (reply) => ({ ...reply, body: reply.body.replace('"7"', '7') })],
    ['no bio', ADA, (reply) => ({ ...reply, body: reply.body.replace('"bio"', '"Bio"') })],
    ['a list for a profile', `${ADA}/shots`, (reply) => reply],
    ['a name with a control character', '/b/api/username/a%01b', (reply) => reply],
    ['a repeated user', '/a/api?user=ada&user=ada', (reply) => reply],
    ['a refusal of what is allowed', ADA, (reply) => ({ ...reply, status: 400 })],
  ];
  test.each(DEVIATIONS)('%s', (_, path, change) => {
    expect(judge.faultOf(ADA, {}, good)).toBeUndefined();
    expect(judge.faultOf(path, {}, change(good))).toEqual(expect.any(String));
  });
});
