// The code that the pages show in five languages runs as it is, and does what it says.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { compile } from '../../support/compile.ts';
import { ROOT, tempFolder } from '../../support/files.ts';
import { ask, json } from '../../support/http.ts';
import { pathOf, skipWithout } from '../../support/programs.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

const exec = promisify(execFile);

let server: LocalServer;
let profile: Record<string, string>;
let etag: string;
beforeAll(async () => {
  server = await serveHere();
  const got = await ask(server, '/b/api/username/o%27neill');
  profile = json(got);
  etag = got.headers.etag as string;
});

/** The snippet of a language, as the pages write it. */
async function snippet(language: string, headers: Record<string, string> = {}): Promise<string> {
  const { snippetIn } = await import('../../../src/pages/web/explorer/snippets.js');
  const url = `${server.url}/b/api/username/o%27neill`;
  return snippetIn(language, { url, headers, types: ['PortfolioProfile'] });
}

async function run(program: string, name: string, code: string): Promise<string> {
  const folder = tempFolder();
  writeFileSync(join(folder, name), code);
  return (await exec(program, [name], { cwd: folder })).stdout;
}

/** What a line added to the code writes, behind what the code itself prints. */
function lastLine(output: string): string {
  const lines = output.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(1);
  expect(output).toContain(profile.username);
  return lines.at(-1) ?? '';
}

test('code says why there is no response with status 200', async () => {
  const missing = (await snippet('fetch')).replace('o%27neill', 'nobody');
  await expect(run(process.execPath, 'a.mjs', missing)).rejects.toThrow('Status 404');
});

test('fetch', async () => {
  const code = `${await snippet('fetch', { 'X-Quote': "it's" })}\nconsole.log(JSON.stringify(body));`;
  expect(JSON.parse(lastLine(await run(process.execPath, 'a.mjs', code)))).toEqual(profile);
});

test('TypeScript, with the types of the package', async () => {
  const folder = tempFolder();
  const installed = join(folder, 'node_modules/vitrine');
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, 'package.json'), '{ "exports": { "./types": { "types": "./types.d.ts" } } }');
  cpSync(join(ROOT, 'src/pages/web/types.d.ts'), join(installed, 'types.d.ts'));
  const checked = '// @ts-expect-error: no such member\nbody.nothing;\nconsole.log(JSON.stringify(body));';
  const code = `${await snippet('TypeScript', { 'X-Quote': "it's" })}\n${checked}`;
  writeFileSync(join(folder, 'a.mts'), code);
  const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
  expect(await compile(folder, ['a.mts'], ...types)).toBe('');
  const { stdout } = await exec(process.execPath, ['a.mts'], { cwd: folder });
  expect(JSON.parse(lastLine(stdout))).toEqual(profile);
});

describe.each([
  ['python', 'Python', 'print(json.dumps(body))'],
  ['php', 'PHP', 'echo json_encode($body);'],
] as const)('%s', (program, language, show) => {
  test.skipIf(skipWithout(program))('with and without a header', async () => {
    for (const headers of [undefined, { 'X-Quote': "it's" }]) {
      const code = `${await snippet(language, headers)}\n${show}`;
      expect(JSON.parse(lastLine(await run(pathOf(program), 'code', code)))).toEqual(profile);
    }
  });
});

test.skipIf(skipWithout('curl'))('curl, with an ETag', async () => {
  const { stdout } = await exec('bash', [
    '-c',
    await snippet('curl', { 'If-None-Match': `"it's", ${etag}` }),
  ]);
  expect(stdout).toMatch(/^HTTP\/1\.1 304 /);
});
