// Programs that some tests need besides Node. Tests of a missing program are skipped with a reason; with CI set they fail.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const inPath = (name: string) => (process.env.PATH ?? '').split(':').map((folder) => join(folder, name));

/** Debian installs PostgreSQL versions side by side; the newest comes first. */
function postgresFolders(): string[] {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(root, version, 'bin', 'initdb'));
}

interface Program {
  readonly name: string;
  /** Its path, installed or not. */
  readonly places: readonly string[];
  /** The Debian package that contains it. */
  readonly package: string;
}

const PROGRAMS = {
  chromium: {
    name: 'Chromium',
    places: [
      ...(process.env.CHROMIUM === undefined ? [] : [process.env.CHROMIUM]),
      // Without a window to draw, it takes half as much CPU.
      ...['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].flatMap(inPath),
    ],
    package: 'chromium-headless-shell',
  },
  caddy: { name: 'Caddy', places: inPath('caddy'), package: 'caddy' },
  nginx: {
    name: 'nginx',
    // An ordinary account's PATH often lacks the sbin folders.
    places: [...inPath('nginx'), '/usr/sbin/nginx', '/usr/local/sbin/nginx'],
    package: 'nginx-light',
  },
  postgres: {
    name: 'PostgreSQL',
    places: [...postgresFolders(), ...inPath('initdb')],
    package: 'postgresql',
  },
  curl: { name: 'curl', places: inPath('curl'), package: 'curl' },
  php: { name: 'PHP', places: inPath('php'), package: 'php-cli' },
  python: { name: 'Python', places: inPath('python3'), package: 'python3' },
  slowhttptest: { name: 'slowhttptest', places: inPath('slowhttptest'), package: 'slowhttptest' },
  perl: { name: 'Perl', places: inPath('perl'), package: 'perl-base' },
  prometheus: { name: 'Prometheus', places: inPath('prometheus'), package: 'prometheus' },
  promtool: { name: 'promtool', places: inPath('promtool'), package: 'prometheus' },
  wrk: { name: 'wrk', places: inPath('wrk'), package: 'wrk' },
  systemdAnalyze: { name: 'systemd-analyze', places: inPath('systemd-analyze'), package: 'systemd' },
} satisfies Record<string, Program>;

export type ProgramName = keyof typeof PROGRAMS;

/** The path of a program, if it is installed. */
export const findProgram = (program: ProgramName) =>
  PROGRAMS[program].places.find((path) => existsSync(path));

export function pathOf(program: ProgramName): string {
  const path = findProgram(program);
  if (path === undefined) throw new Error(missing(program));
  return path;
}

/** Whether to skip tests that need this program; logs it if so. */
export function skipWithout(program: ProgramName): boolean {
  const skip = findProgram(program) === undefined && !process.env.CI;
  if (skip) console.warn(`SKIPPED: ${missing(program)}`);
  return skip;
}

function missing(program: ProgramName): string {
  const { name, package: debianPackage } = PROGRAMS[program];
  return `${name} is not installed (apt-get install ${debianPackage})`;
}
