// Programs besides Node that some tests need. Without one its tests are skipped, with the reason; where CI is set they fail.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const inPath = (name: string) => (process.env.PATH ?? '').split(':').map((folder) => join(folder, name));

/** Debian's versions of PostgreSQL lie side by side; the newest first. */
function postgresFolders(): string[] {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(root, version, 'bin', 'initdb'));
}

interface Program {
  readonly name: string;
  /** Where it is, or would be. */
  readonly places: readonly string[];
  /** The Debian package that brings it. */
  readonly package: string;
}

const PROGRAMS = {
  chromium: {
    name: 'Chromium',
    places: [
      ...(process.env.CHROMIUM === undefined ? [] : [process.env.CHROMIUM]),
      ...['chromium', 'chromium-browser', 'google-chrome'].flatMap(inPath),
    ],
    package: 'chromium',
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

/** Whether to skip the tests that need this program; says so if they are. */
export function skipWithout(program: ProgramName): boolean {
  const skip = findProgram(program) === undefined && !process.env.CI;
  if (skip) console.warn(`SKIPPED: ${missing(program)}`);
  return skip;
}

function missing(program: ProgramName): string {
  const { name, package: debianPackage } = PROGRAMS[program];
  return `${name} is not installed (apt-get install ${debianPackage})`;
}
