// The three ways of the guide to install, their commands as they are written: to the first lookup, to a newer version, and back.
//
// Four things stand in here. The repository is a clone of this one, with a tag for each version. Folders of the system, the
// home and the port are the test's own. `systemctl`, `useradd` and `runuser` need a booted system and root: functions of the
// shell start what the printed unit says, and run a command as this account. `docker` is an engine: a function installs what
// the Dockerfile installs, the package after `npm ci --omit=dev`, and runs commands with the variables of the Dockerfile.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { atEnd } from '../support/at-end.ts';
import { ROOT, tempFolder } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { PATH } from '../support/npm.ts';
import { section } from '../support/pages.ts';
import { until } from '../support/stress.ts';

const GUIDE = 'src/guides/install.md';
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const NEWER = version.replace(/\d+\.\d+$/, (rest: string) => `${Number.parseInt(rest, 10) + 1}.0`);
/** npm installs all packages more than once. */
const MINUTES = 10 * 60_000;
const MIRA = /"username":"mira","name":"Mira Halonen"/;

const repository = tempFolder();
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@localhost', ...args], {
    cwd: repository,
    stdio: 'ignore',
  });

beforeAll(() => {
  git('clone', '--quiet', ROOT, '.');
  git('tag', '--force', `v${version}`);
  for (const file of ['package.json', 'package-lock.json']) {
    const path = join(repository, file);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replaceAll(`"version": "${version}"`, `"version": "${NEWER}"`),
    );
  }
  git('commit', '--quiet', '--all', '--message', NEWER);
  git('tag', `v${NEWER}`);
});

/** The functions that stand for systemd and for Docker. What runs in the background has its process id in $HOME/pid. */
const SHELL = `
stop() { [ ! -e ~/pid ] || { kill "$(cat ~/pid)"; while kill -0 "$(cat ~/pid)" 2>/dev/null; do sleep 0.1; done; rm ~/pid; }; }
start() { ("$@" >>~/log 2>&1 </dev/null & echo $! >~/pid); }

useradd() { [ "$*" = "--system --home-dir $ROOT/var/lib/vitrine vitrine" ]; }
runuser() { [ "$1 $2 $3" = '-u vitrine --' ] && shift 3 && "$@"; }
chown() { [ "$*" = '-R vitrine:vitrine data' ]; }
systemctl() {
  case $1 in
    daemon-reload) ;;
    stop) stop ;;
    enable | start | restart) stop; unit ;;
    *) return 1 ;;
  esac
}
unit() {
  local text start env
  text=$(sed "s#/usr/bin/node#$NODE#; s#/opt/#$ROOT/opt/#g; s# /srv/# $ROOT/srv/#; s#/var/lib/#$ROOT/var/lib/#g; s#PORT=8080#PORT=$PORT#" "$ROOT/etc/systemd/system/vitrine.service")
  mapfile -t env < <(sed -n 's/^Environment="\\(.*\\)"$/\\1/p' <<<"$text")
  mkdir -p "$ROOT/var/lib/vitrine"
  start env -i PATH=/usr/bin "\${env[@]}" $(sed -n 's/^ExecStart=//p' <<<"$text")
}

docker() {
  case "$1 $2" in
    'build -t' | 'compose build') image ;;
    'tag '*) rm -rf ~/"images/$3" && cp -r ~/"images/$2" ~/"images/$3" ;;
    'run --rm') shift 3; "\${inside[@]}" "$@" ;;
    'compose up') stop; start "\${inside[@]}" vitrine serve ;;
    'compose down') stop ;;
    'compose exec') [ "$3 $4" = '-T vitrine' ] && shift 4 && "\${inside[@]}" "$@" ;;
    'compose run') [ "$3 $4 $5" = '--rm -T vitrine' ] && shift 5 && "\${inside[@]}" "$@" ;;
    *) return 1 ;;
  esac
}
image() {
  rm -rf ~/package ~/images/vitrine && mkdir -p ~/images "$ROOT/data"
  ln -sfn "$CHECKOUT/node_modules" node_modules && npm run -s pack -- --silent --pack-destination ~/images
  tar xzf ~/images/vitrine-*.tgz -C ~ && rm ~/images/*.tgz && cp package-lock.json .npmrc ~/package
  (cd ~/package && npm ci --omit=dev --no-audit)
  chmod a+x ~/package/dist/vitrine.js && mkdir ~/package/bin && ln -s ../dist/vitrine.js ~/package/bin/vitrine && mv ~/package ~/images/vitrine
}
# No function: what runs in the background must be one process.
inside=(env -i PATH="$HOME/images/vitrine/bin:$PATH" HOST=127.0.0.1 PORT="$PORT" DATABASE_URL="$ROOT/data/site.db" SQLITE_TMPDIR="$ROOT/data")
`;

/** A machine of its own, where the guide's commands run one block after the other. */
async function createMachine(title: string) {
  const root = tempFolder();
  const home = join(root, 'home');
  const port = await freePort();
  mkdirSync(home);
  writeFileSync(join(home, '.npmrc'), readNpmSettings());
  const own = { HOME: home, ROOT: root, NODE: process.execPath, PORT: String(port), PATH, CHECKOUT: ROOT };
  const env = {
    ...process.env,
    ...own,
    npm_config_cache: setting('cache'),
    npm_config_prefer_offline: 'true',
  };
  const blocks = [...section(GUIDE, title).matchAll(/^```sh\n(.*?)^```/gms)].map(([, code = '']) => code);
  const [records = ''] = [...readFileSync(join(ROOT, GUIDE), 'utf8').matchAll(/^```sh\n(.*?)^```/gms)].map(
    ([, code = '']) => code,
  );
  const local = (code: string) =>
    code
      .replaceAll('https://github.com/vitrine/vitrine.git', repository)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replaceAll('/usr/bin/node', process.execPath)
      .replace(/(?<![\w~.|])\/(opt|srv|etc|var\/lib|data)\//g, `${root}/$1/`)
      .replace(/(?<![\w~.])\/(srv|opt)\/vitrine$/gm, `${root}/$1/vitrine`);
  const script = (code: string) => ['--norc', '-euo', 'pipefail', '-c', `${SHELL}\n${local(code)}`];
  const pid = () => Number(readFileSync(join(home, 'pid'), 'utf8'));
  atEnd(() => existsSync(join(home, 'pid')) && process.kill(pid(), 'SIGKILL'));
  mkdirSync(join(root, 'etc/systemd/system'), { recursive: true });
  const run = async (code: string): Promise<string> =>
    (await promisify(execFile)('bash', script(code), { cwd: home, env, maxBuffer: 2 ** 24 })).stdout;
  await run(records);
  /** What runs until Ctrl-C, which a terminal sends to the shell, to npx and to the server. */
  function start(code: string): () => Promise<unknown> {
    const child = spawn('bash', script(code), { cwd: home, env, stdio: 'ignore', detached: true });
    const ended = once(child, 'exit');
    const end = (signal: NodeJS.Signals) =>
      child.exitCode === null && child.signalCode === null && process.kill(-Number(child.pid), signal);
    atEnd(() => end('SIGKILL'));
    return () => {
      end('SIGINT');
      return ended;
    };
  }
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  return { blocks, root, home, run, start, isUp };
}

const setting = (name: string) =>
  execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', env: { ...process.env, PATH } }).trim();

/** Such as the registry; npm looks for it in the home. */
function readNpmSettings(): string {
  const file = setting('userconfig');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

test('the guide names the version that this is, and a newer one', () => {
  const named = readFileSync(join(ROOT, GUIDE), 'utf8').matchAll(/\bv(?:itrine-)?(\d+\.\d+\.\d+)/g);
  expect(new Set([...named].map(([, name]) => name))).toEqual(new Set([version, NEWER]));
});

describe('systemd with a checkout', () => {
  test('from nothing to a lookup, to a newer version, and back', { timeout: MINUTES }, async () => {
    const { blocks, root, run } = await createMachine('systemd with a checkout');
    const [install = '', update = '', back = ''] = blocks;
    const installed = () =>
      JSON.parse(readFileSync(join(root, 'opt/vitrine/package.json'), 'utf8')).version as string;
    expect(await run(install)).toMatch(MIRA);
    expect([installed(), existsSync(join(root, 'opt/vitrine/node_modules/vitest'))]).toEqual([
      version,
      false,
    ]);
    expect(await run(update)).toMatch(MIRA);
    expect(installed()).toBe(NEWER);
    expect(await run(back)).toMatch(MIRA);
    expect(installed()).toBe(version);
  });
});

describe('the package with npm', () => {
  test('from nothing to a lookup, to a newer version, and back', { timeout: MINUTES }, async () => {
    const { blocks, run, start, isUp } = await createMachine('The package with npm');
    const [pack = '', install = '', lookup = '', units = '', update = '', back = ''] = blocks;
    await run(pack);
    // The development tools are there by now.
    await run(pack.replace(`v${version}`, `v${NEWER}`).replace(/^(git clone|npm ci).*\n/gm, ''));
    const expectUp = async (expected: string) => {
      expect(await run(lookup)).toMatch(MIRA);
      expect(await run('cd /srv/vitrine\nnpx vitrine --version')).toBe(`${expected}\n`);
    };
    const stop = start(install);
    // This block installs with npm and imports first.
    await until('the server', isUp, 400);
    await expectUp(version);
    await stop();
    for (const [code, expected] of [
      [units, version],
      [update, NEWER],
      [back, version],
    ] as const) {
      await run(code);
      await expectUp(expected);
    }
    await run('systemctl stop vitrine.socket vitrine.service');
  });
});

describe('a container', () => {
  test('from nothing to a lookup, to a newer version, and back', { timeout: MINUTES }, async () => {
    const { blocks, home, run } = await createMachine('A container');
    const [install = '', update = '', back = ''] = blocks;
    const running = () => run('docker compose exec -T vitrine vitrine --version');
    expect(await run(install)).toMatch(MIRA);
    expect(await running()).toBe(`${version}\n`);
    const { services } = parse(readFileSync(join(home, 'vitrine/compose.yaml'), 'utf8'));
    expect(services.vitrine).toMatchObject({ image: 'vitrine', build: '.', volumes: ['data:/data'] });
    expect(await run(update)).toMatch(MIRA);
    expect(await running()).toBe(`${NEWER}\n`);
    expect(await run(back)).toMatch(MIRA);
    expect(await running()).toBe(`${version}\n`);
  });
});
