// The code that the pages show in five languages runs as it is, and does what it says.
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { recordTypes } from '../../.ci/types.ts';
import { ROOT, tempFolder } from '../files.ts';
import { pathOf, skipWithout } from '../programs.ts';
import { ask, json, type Server, startServer } from '../rig.ts';

const exec = promisify(execFile);

let server: Server;
let profile: Record<string, string>;
let etag: string;
beforeAll(async () => {
  server = await startServer();
  const got = await ask(server, '/b/api/username/o%27neill');
  profile = json(got);
  etag = got.headers.etag as string;
});

/** The snippet of a language, as the pages write it. */
function snippet(language: string, headers: Record<string, string> = {}): string {
  const script = `import { snippetIn } from '${join(ROOT, 'src/web/explorer/snippets.js')}';
    process.stdout.write(snippetIn(...JSON.parse(process.argv[1])));`;
  const shown = { url: `${server.url}/b/api/username/o%27neill`, headers, types: ['PortfolioProfile'] };
  const args = ['--input-type=module', '-e', script, JSON.stringify([language, shown])];
  return execFileSync(process.execPath, args, { encoding: 'utf8' });
}

async function run(program: string, name: string, code: string): Promise<string> {
  const folder = tempFolder();
  writeFileSync(join(folder, name), code);
  return (await exec(program, [name], { cwd: folder })).stdout;
}

test('fetch', async () => {
  const code = `${snippet('fetch', { 'X-Quote': "it's" })}\nconsole.log(JSON.stringify(body));`;
  expect(JSON.parse(await run(process.execPath, 'a.mjs', code))).toEqual(profile);
});

test('TypeScript, with the types of the package', async () => {
  const folder = tempFolder();
  const types = join(folder, 'node_modules/vitrine');
  mkdirSync(types, { recursive: true });
  writeFileSync(
    join(types, 'package.json'),
    JSON.stringify({ name: 'vitrine', exports: { './types': { types: './types.d.ts' } } }),
  );
  writeFileSync(join(types, 'types.d.ts'), recordTypes);
  const checked = '// @ts-expect-error: no such member\nbody.nothing;\nconsole.log(JSON.stringify(body));';
  const code = `${snippet('TypeScript', { 'X-Quote': "it's" })}\n${checked}`;
  writeFileSync(join(folder, 'a.mts'), code);
  const options = '--strict --noEmit --module nodenext --target esnext --types node --typeRoots';
  const args = [...options.split(' '), join(ROOT, 'node_modules/@types'), 'a.mts'];
  await exec(join(ROOT, 'node_modules/.bin/tsc'), args, { cwd: folder });
  expect(JSON.parse((await exec(process.execPath, ['a.mts'], { cwd: folder })).stdout)).toEqual(profile);
});

test.skipIf(skipWithout('python'))('Python', async () => {
  for (const headers of [{}, { 'X-Quote': "it's" }]) {
    const code = `${snippet('Python', headers as Record<string, string>)}\nprint(json.dumps(body))`;
    expect(JSON.parse(await run(pathOf('python'), 'a.py', code))).toEqual(profile);
  }
});

test.skipIf(skipWithout('php'))('PHP', async () => {
  for (const headers of [{}, { 'X-Quote': "it's" }]) {
    const code = `${snippet('PHP', headers as Record<string, string>)}\necho json_encode($body);`;
    expect(JSON.parse(await run(pathOf('php'), 'a.php', code))).toEqual(profile);
  }
});

test.skipIf(skipWithout('curl'))('curl, with an ETag', async () => {
  const { stdout } = await exec('bash', ['-c', snippet('curl', { 'If-None-Match': `"it's", ${etag}` })]);
  expect(stdout).toMatch(/^HTTP\/1\.1 304 /);
});
