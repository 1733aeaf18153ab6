// README's two commands with the npm that people have: Debian 12 and 13 and Ubuntu 24.04 bring 9.2, and Node 20 brings 10.8.
import { execFile, spawn } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { endWithTests } from '../support/at-end.ts';
import { ROOT, tempFolder } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { ask } from '../support/http.ts';
import { npmInstall } from '../support/npm.ts';
import { until } from '../support/stress.ts';

const COPIED = [
  '.npmrc',
  '.biome.jsonc',
  '.ci',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'src',
  'migrations',
  'test',
  'fixtures',
];
/** As in a shell of its own: without what the npm that runs these tests has put first. */
const SHELL_PATH = (process.env.PATH ?? '').split(':').filter((folder) => !folder.includes('node_modules'));

/** Types and style are the same with any npm. That it finds the programs is enough. */
function skipCheck(path: string): void {
  const settings = JSON.parse(readFileSync(path, 'utf8'));
  settings.scripts.check = 'tsc --version && biome --version';
  writeFileSync(path, JSON.stringify(settings));
}

test.each(['9.2.0', '10.8.2', 'latest'])(
  'npm %s installs, starts and tests a fresh checkout',
  async (version) => {
    const [ownNpm, cwd] = [tempFolder(), tempFolder()];
    await npmInstall(ownNpm, `npm@${version}`);
    for (const name of COPIED) cpSync(join(ROOT, name), join(cwd, name), { recursive: true });
    skipCheck(join(cwd, 'package.json'));
    const port = await freePort();
    const env = {
      HOME: process.env.HOME ?? cwd,
      PATH: [join(ownNpm, 'node_modules/.bin'), ...SHELL_PATH].join(':'),
      PORT: String(port),
      NO_COLOR: '1',
    };
    const npm = async (...args: string[]) =>
      (await promisify(execFile)('npm', args, { cwd, env, maxBuffer: Number.POSITIVE_INFINITY })).stdout;

    await npm('ci', '--prefer-offline', '--no-audit');
    const server = endWithTests(spawn('npm', ['start'], { cwd, env, stdio: 'ignore' }));
    await until('the server', () => ask({ port }, '/healthz').then(Boolean, () => false));
    server.kill('SIGTERM');
    expect(await npm('run', '--silent', 'vitrine', '--', '--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await npm('test', '--', 'api/routes.test')).toMatch(/Tests +\d+ passed/);
  },
  // Each installs everything anew.
  1_200_000,
);
