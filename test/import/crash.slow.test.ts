import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { databaseOf } from '../support/database.ts';
import { tempFolder } from '../support/files.ts';
import { ask, json } from '../support/http.ts';
import { serveHere } from '../support/serve-here.ts';
import { bodiesOf, generation } from '../support/stress.ts';

describe('starting with a damaged database', () => {
  const records = generation(2);
  const bodies = bodiesOf(records);
  const HURTS: [what: string, hurt: (bytes: Buffer, page: number) => Buffer | undefined][] = [
    ['cut to half', (bytes) => bytes.subarray(0, bytes.length / 2)],
    ['cut within a page', (bytes) => bytes.subarray(0, bytes.length - 1000)],
    ['with garbage at its start', (bytes) => void bytes.fill('rubbish', 0, 64)],
    ['with a wrong page count in its header', (bytes) => void bytes.writeUInt32BE(7777, 28)],
    ...Array.from({ length: 4 }, (_, index): (typeof HURTS)[number] => [
      `with bits flipped in the head of page ${index + 1}`,
      (bytes, page) =>
        void bytes.writeUInt8(
          (bytes[index * page + (index === 0 ? 100 : 0)] ?? 0) ^ 0x5a,
          index * page + (index === 0 ? 100 : 0),
        ),
    ]),
    ['with a page of zeros', (bytes, page) => void bytes.fill(0, 3 * page, 4 * page)],
    ['that is a folder', () => undefined],
  ];

  let whole: Buffer;
  beforeAll(async () => {
    whole = readFileSync(await databaseOf(...records));
  });

  test.each(HURTS)('%s: refused with one message, or no response is wrong', async (what, hurt) => {
    const path = join(tempFolder(), 'site.db');
    const bytes = Buffer.from(whole);
    if (what.endsWith('folder')) mkdirSync(path);
    else writeFileSync(path, hurt(bytes, bytes.readUInt16BE(16)) ?? bytes);
    const starting = await serveHere({ DATABASE_URL: path }).catch((error: Error) => error.message);
    if (typeof starting === 'string') {
      expect(starting).toMatch(/ended with 1:\nvitrine: [^\n]*site\.db[^\n]+\n$/);
      expect(starting).not.toMatch(/\bat .*:\d+:\d+|node_modules/);
      return;
    }
    for (const [address, body] of bodies) {
      const reply = await ask(starting, address);
      if (reply.status === 200) expect(reply.body).toBe(body);
      else
        expect({ status: reply.status, code: json(reply).code }).toEqual({ status: 503, code: 'NOT_READY' });
    }
    expect((await ask(starting, '/healthz')).status).toBe(200);
  });
});
