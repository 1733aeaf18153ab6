// A release, tried in a clone without a tag: what it refuses, and what a dry run leaves.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ROOT, tempFolder } from '../support/files.ts';

const { version, dependencies, devDependencies } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);
const DEPENDENCIES = Object.keys(dependencies);
/** Some packages of the development tools are needed by what runs as well. */
const DEVELOPMENT = Object.keys(devDependencies).filter((name) => !['ajv', 'yaml'].includes(name));
const clone = join(tempFolder(), 'clone');

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@localhost', ...args], { cwd: clone });

function release(args: readonly string[], settings: Record<string, string> = {}) {
  const env = { ...process.env, RELEASE_IMAGE: 'no', ...settings };
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
  // RELEASE_IMAGE hides it.
  ['a machine without buildah', [version], () => {}, 'release: install buildah, which builds the image'],
  [
    'changes that are not committed',
    [version, '--dry-run'],
    () => appendFileSync(join(clone, 'README.md'), 'x'),
    'release: commit or remove what is changed',
  ],
])('a release refuses %s', (_reason, args, prepare, message) => {
  prepare();
  expect(release(args)).toMatchObject({ status: 1, stderr: expect.stringContaining(message) });
  git('reset', '--quiet', '--hard');
  if (git('tag').length > 0) git('tag', '--delete', `v${version}`);
});

test('a release without a registry says so in one sentence', () => {
  const { status, stderr } = release([version, '--dry-run'], {
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_fetch_retries: '0',
    npm_config_cache: tempFolder(),
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^release: npm cannot install the package: its registry must be reachable$/m);
  expect(stderr).not.toMatch(/^ +at /m);
});

describe('a dry run', () => {
  let ran: ReturnType<typeof release>;
  beforeAll(() => {
    ran = release([version, '--dry-run']);
    // npm's cache may be empty.
  }, 600_000);

  test('leaves the package, and sets no tag', () => {
    const { status, stdout, stderr } = ran;
    expect(stderr).not.toContain('release:');
    expect(status).toBe(0);
    expect(stdout).toContain(`a release of ${version} would be tagged now`);
    expect(existsSync(join(clone, `release/vitrine-${version}.tgz`))).toBe(true);
    expect(git('tag').toString()).toBe('');
  });

  test('leaves the list of what runs on this platform', () => {
    const { metadata, components } = JSON.parse(readFileSync(join(clone, 'release/sbom.cdx.json'), 'utf8'));
    expect(metadata.component).toMatchObject({ name: 'vitrine', version });
    const names: string[] = components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(DEPENDENCIES));
    expect(
      names.filter((name) => name.startsWith('@img/sharp-') && !name.includes(process.platform)),
    ).toEqual([]);
    expect(names.filter((name) => DEVELOPMENT.includes(name))).toEqual([]);
  });

  // npm takes `release/…` for a repository on GitHub. With --dry-run it asks no registry.
  test.each(['.github/CONTRIBUTING.md', '.github/workflows/release.yml'])(
    'leaves what %s publishes',
    (file) => {
      const [command = ''] = /npm publish .*/.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
      const printed = execFileSync('bash', ['-c', `${command} --dry-run 2>&1`], {
        cwd: clone,
        // `npm run -s` would make this npm silent as well.
        env: { ...process.env, npm_config_loglevel: 'notice', GITHUB_REF_NAME: `v${version}` },
        encoding: 'utf8',
      });
      expect(printed).toContain(`+ vitrine@${version}`);
      // npm makes provenance where it runs in a known CI only.
      expect(command.includes(' --provenance')).toBe(file.endsWith('.yml'));
      expect(command).toMatch(/ --access public$/);
    },
  );
});
