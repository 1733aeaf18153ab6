// What a browser shows of files that are served: a page that is loaded again has the data that was saved.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { launch } from '../browser-launch.ts';
import { ndjson, tempFile } from '../files.ts';
import { skipWithout } from '../programs.ts';
import { ask, atEnd, json, startServer } from '../rig.ts';
import { until } from '../stress.ts';

const mira = (name: string) => ndjson({ id: '1', username: 'mira', name, skills: 'type' });

test.skipIf(skipWithout('chromium'))('a page shows what was saved when it is loaded again', async () => {
  const file = tempFile('people.ndjson', mira('first'));
  const server = await startServer({}, [file]);
  await using browser = await launch();
  const page = await browser.newPage();
  const html = `<!doctype html><script>fetch('${server.url}/b/api/username/mira')
    .then((reply) => reply.json()).then(({ name }) => { document.title = name; });</script>`;
  // The page of a developer, which another server serves.
  const own = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html));
  atEnd(() => own.close());
  await once(own.listen(0, '127.0.0.1'), 'listening');
  const { port } = own.address() as AddressInfo;
  const fetchName = async () => {
    await page.goto(`http://127.0.0.1:${port}/`);
    return await until('a name', () => page.title());
  };
  expect(await fetchName()).toBe('first');
  writeFileSync(file, mira('second'));
  await until(
    'what was saved',
    async () => json(await ask(server, '/b/api/username/mira')).name === 'second',
  );
  expect(await fetchName()).toBe('second');
  await server.stop();
});
