// The package: packed, installed into an empty folder, and run there. Only what runs is in it, and in the image.
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { ndjson, ROOT, tempFolder } from '../files.ts';
import { ask, endWithTests, json } from '../rig.ts';
import { until } from '../stress.ts';

const MIRA = { id: '1', username: 'mira', name: 'Mira', skills: 'type' };

const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
let folder: string;
let tarball: string;
beforeAll(() => {
  folder = tempFolder();
  const options = { cwd: ROOT, encoding: 'utf8' } as const;
  tarball = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], options).trim();
});

test('the package and the image have what runs, and nothing else', () => {
  const list = execFileSync('tar', ['tzf', tarball], { cwd: folder, encoding: 'utf8' });
  const names = list.trim().split('\n');
  expect(names).toEqual(expect.arrayContaining(['package/src/main.ts', 'package/src/web/explorer.html']));
  const known =
    /^package\/(package\.json|README\.md|LICENSE|src\/|migrations\/|fixtures\/([\w]+\.\w+|pictures\/[^/]+)$)/;
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain(`npx ./${tarball} `);
  expect(names.filter((name) => !known.test(name))).toEqual([]);

  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const rules = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  const taken = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));
  expect(rules[0]).toBe('*');
  expect(taken.sort()).toEqual([...files, 'LICENSE', 'package.json', 'package-lock.json', '.npmrc'].sort());
});

test('it serves a file of its user, as saved', async () => {
  const own = tempFolder();
  copyFileSync(join(folder, tarball), join(own, tarball));
  await promisify(execFile)('npm', ['install', '--prefer-offline', '--no-audit', `./${tarball}`], {
    ...{ cwd: own, env: { ...process.env, PATH } },
  });
  const file = join(own, 'people.ndjson');
  writeFileSync(file, ndjson(MIRA));
  const bin = join(own, 'node_modules/.bin/vitrine');
  const child = endWithTests(execFile(bin, ['people.ndjson', '--port', '0'], { cwd: own, env: { PATH } }));
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  const port = Number(new URL(JSON.parse(line).url).port);
  const name = async () => json(await ask({ port }, '/b/api/username/mira')).name;
  expect(await name()).toBe('Mira');
  expect((await ask({ port }, '/')).body).toContain('mira');
  writeFileSync(file, ndjson({ ...MIRA, name: 'Mira H.' }));
  await until('the saved file', async () => (await name()) === 'Mira H.');
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([0, null]);
});
