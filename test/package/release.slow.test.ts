// A release, tried in a clone without a tag: what it refuses, and what a dry run leaves.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ROOT, tempFolder } from '../support/files.ts';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const clone = join(tempFolder(), 'clone');

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@localhost', ...args], { cwd: clone });

function release(...args: string[]) {
  const env = { ...process.env, RELEASE_IMAGE: 'no' };
  const { status, stdout, stderr } = spawnSync('bash', ['.ci/release', ...args], {
    cwd: clone,
    env,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

beforeAll(() => {
  execFileSync('git', ['clone', '--quiet', ROOT, clone]);
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  appendFileSync(join(clone, '.git/info/exclude'), 'node_modules\n');
});

test.each<[reason: string, args: string[], prepare: () => void, message: string]>([
  ['no version', [], () => {}, 'release: name the version'],
  ['a word for a version', ['next'], () => {}, "release: 'next' is no version"],
  ['an unknown option', [version, '--force'], () => {}, "release: unknown option '--force'"],
  ['another version', ['9.9.9', '--dry-run'], () => {}, 'release: package.json does not name version 9.9.9'],
  [
    'a tag that exists',
    [version, '--dry-run'],
    () => git('tag', `v${version}`),
    `release: the tag v${version} exists`,
  ],
  [
    'changes that are not committed',
    [version, '--dry-run'],
    () => appendFileSync(join(clone, 'README.md'), 'x'),
    'release: commit or remove what is changed',
  ],
])('a release refuses %s', (_reason, args, prepare, message) => {
  prepare();
  expect(release(...args)).toMatchObject({ status: 1, stderr: expect.stringContaining(message) });
  git('reset', '--quiet', '--hard');
  if (git('tag').length > 0) git('tag', '--delete', `v${version}`);
});

test('a dry run leaves the package and the list of what it holds, and sets no tag', () => {
  const { status, stdout, stderr } = release(version, '--dry-run');
  expect(stderr).not.toContain('release:');
  expect(status).toBe(0);
  expect(stdout).toContain(`a release of ${version} would be tagged now`);
  expect(existsSync(join(clone, `release/vitrine-${version}.tgz`))).toBe(true);
  const { components } = JSON.parse(readFileSync(join(clone, 'release/sbom.cdx.json'), 'utf8'));
  const names = components.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['better-sqlite3', 'fastify', '@sinclair/typebox', 'undici']));
  expect(names).not.toContain('vitest');
  expect(git('tag').toString()).toBe('');
});
