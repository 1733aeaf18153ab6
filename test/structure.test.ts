// The architecture, read from import statements: which folder may import from which, what a command loads before it runs,
// and what tests may need.
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from './files.ts';

const SRC = join(ROOT, 'src');
const MAX_LINES = 300;

interface Source {
  readonly name: string;
  readonly text: string;
  /** Our own files as paths under src; packages by name. */
  readonly imports: readonly string[];
  /** Those that Node loads with it: types are erased, and others are loaded when they are used. */
  readonly loads: readonly string[];
  readonly loadsLate: readonly string[];
}

const sources: Source[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.[jt]s$/.test(name) && !name.startsWith('web/'))
  .sort()
  .map((name) => {
    const text = readFileSync(join(SRC, name), 'utf8');
    const found = text.matchAll(
      /^(?:import|export)\b[^;]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
    );
    const imports = [...found].map(([statement, from, bare, late]) => {
      const path = (from ?? bare ?? late) as string;
      return {
        path: path.startsWith('.') ? normalize(join(dirname(name), path)) : path,
        isType: /^(import|export) type\b/.test(statement),
        isLate: late !== undefined,
      };
    });
    return {
      name,
      text,
      imports: imports.map(({ path }) => path),
      loads: imports.filter(({ isType, isLate }) => !isType && !isLate).map(({ path }) => path),
      loadsLate: imports.filter(({ isLate }) => isLate).map(({ path }) => path),
    };
  });

const isOurs = (path: string) => sources.some(({ name }) => name === path);
const roomOf = (name: string) => dirname(name);
const sourceOf = (name: string) => sources.find((source) => source.name === name) as Source;
const ours = (name: string, kind: 'imports' | 'loads' = 'imports') => sourceOf(name)[kind].filter(isOurs);
const importersOf = (pattern: RegExp) =>
  sources.filter(({ imports }) => imports.some((path) => pattern.test(path))).map(({ name }) => name);

/** Everything a file imports, or loads, directly or indirectly. */
function reach(name: string, kind?: 'imports' | 'loads', seen = new Set<string>()): Set<string> {
  for (const next of ours(name, kind))
    if (!seen.has(next)) {
      seen.add(next);
      reach(next, kind, seen);
    }
  return seen;
}

/** The rooms that each room may import from, lowest first. Every room may read the table of variants and the package's files. */
const ROOMS: Record<string, string> = {
  records: '',
  config: 'records',
  http: 'config records stores',
  edge: 'config http',
  'stores/sqlite': 'files records stores',
  'stores/postgres': 'config records stores',
  stores: 'config records stores/sqlite stores/postgres',
  telemetry: 'config edge http stores',
  views: 'config records',
  routes: 'config http records samples stores views',
  openapi: 'config http records routes',
  remote: 'formats records stores/sqlite',
  files: '',
  formats: 'records',
  import: 'files formats records stores stores/sqlite',
  runs: 'files remote',
  mirror: 'files formats import records remote runs stores stores/sqlite',
  compare: 'files formats records remote runs',
  media: 'files records remote runs stores stores/sqlite',
  doctor: 'http records remote',
  print: 'config http records telemetry',
  rehearsal: 'config edge http records',
  purge: 'changes config records remote stores',
  samples: 'import records stores/sqlite',
  server: 'config edge http openapi records rehearsal routes samples stores telemetry views',
  publish: 'config files http print records routes runs server stores stores/sqlite telemetry views',
  changes: 'config remote stores',
  cli: 'changes compare config doctor files import media mirror print publish purge records rehearsal remote samples stores',
  '.': 'cli config http records server telemetry',
};
const SHARED = ['variants.ts', 'package-files.ts'];

/** The imports of a room's files that it may not have, as `FILE imports FILE`. */
const strays = (room: string, allowed: readonly string[]) =>
  sources
    .filter(({ name }) => roomOf(name) === room)
    .flatMap(({ name }) =>
      ours(name)
        .filter((path) => !SHARED.includes(path) && roomOf(path) !== room && !allowed.includes(roomOf(path)))
        .map((path) => `${name} imports ${path}`),
    );

test('tests of the quick lane use no helper that needs another program', () => {
  const imports = (file: string) =>
    [...readFileSync(join(ROOT, 'test', file), 'utf8').matchAll(/ from '\.\/([\w-]+\.ts)'/g)].map(
      ([, name]) => name as string,
    );
  const reaches = (file: string): boolean => file === 'programs.ts' || imports(file).some(reaches);
  expect(globSync('*.test.ts', { cwd: join(ROOT, 'test') }).filter(reaches)).toEqual([]);
});

test('every import resolves', () => {
  expect(sources.length).toBeGreaterThan(20);
  const lost = sources.flatMap(({ name, imports }) =>
    imports.filter((path) => path.endsWith('.ts') && !isOurs(path)).map((path) => `${name} imports ${path}`),
  );
  expect(lost).toEqual([]);
});

test('every room is listed, and imports only from those below it', () => {
  expect([...new Set(sources.map(({ name }) => roomOf(name)))].sort()).toEqual(Object.keys(ROOMS).sort());
  expect(Object.entries(ROOMS).flatMap(([room, allowed]) => strays(room, allowed.split(' ')))).toEqual([]);
});

test('there are no import cycles', () => {
  expect(sources.map(({ name }) => name).filter((name) => reach(name).has(name))).toEqual([]);
});

test.each(sourceOf('cli/program.ts').loadsLate)('%s loads what is heavy when its command runs', (command) => {
  const heavy = /^(@sinclair\/typebox.*|undici|better-sqlite3|fastify|pino|pg|htmlparser2)$/;
  const loading = [command, ...reach(command, 'loads')].filter((name) =>
    sourceOf(name).loads.some((path) => heavy.test(path)),
  );
  expect(loading).toEqual([]);
});

describe('one place for each dependency', () => {
  test.each([
    [/^better-sqlite3$/, /^stores\/sqlite\//],
    [/^pg$/, /^stores\/postgres\//],
    [/^fastify$|^@fastify\/(type|swagger)/, /^(server|routes|openapi|edge|http|rehearsal)\//],
    [/^commander$/, /^cli\//],
    [/^undici$/, /^remote\/http-client\.ts$/],
    [/^marked$/, /^views\/guide-page\.ts$/],
    [/^htmlparser2$/, /^(formats\/xml|import\/map-kit)\.ts$/],
    [/^pino-pretty$/, /^telemetry\/log\.ts$/],
    [/^node:(process|child_process)$/, /^(main|edge\/http-server)\.ts$/],
  ])('%s is imported only by files like %s', (dependency, allowed) => {
    expect(importersOf(dependency).filter((name) => !allowed.test(name))).toEqual([]);
  });

  test('only main.ts and what starts it touch the process', () => {
    const code = (text: string) =>
      text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '').replace(/'(?:\\.|[^'\\\n])*'|`[^`]*`/g, "''");
    const touches = sources.filter(({ text }) =>
      /(?<![.\w])process\s*[.[]|globalThis\.process/.test(code(text)),
    );
    expect(touches.map(({ name }) => name)).toEqual(['main.ts', 'vitrine.js']);
  });

  test('only vitrine.js uses console', () => {
    expect(sources.filter(({ text }) => /\bconsole\./.test(text)).map(({ name }) => name)).toEqual([
      'vitrine.js',
    ]);
  });
});

describe('size and shape', () => {
  test('src/ itself holds the entry points only', () => {
    expect(sources.filter(({ name }) => roomOf(name) === '.').length).toBeLessThanOrEqual(7);
  });

  const misshapen = (isWrong: (source: Source) => boolean) => sources.filter(isWrong).map(({ name }) => name);

  test(`no file has ${MAX_LINES} lines or more`, () => {
    expect(misshapen(({ text }) => text.split('\n').length > MAX_LINES)).toEqual([]);
  });

  test('few files but commands have fewer than 40 lines: most of these belong to their importer', () => {
    const isShort = ({ name, text }: Source) => text.split('\n').length <= 40 && roomOf(name) !== 'cli';
    expect(misshapen(isShort).length).toBeLessThanOrEqual(35);
  });

  test('files are named in kebab-case for what they are', () => {
    expect(
      misshapen(
        ({ name }) =>
          !/^([a-z]+(-[a-z]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*\.(ts|js)$/.test(name) ||
          /utils|helpers|common|(^|\/)(types|index)\.ts/.test(name),
      ),
    ).toEqual([]);
  });

  test('every file begins with a comment that says what it is for', () => {
    expect(misshapen(({ text }) => !/^(#!.*\n)?\/\/ \S/.test(text))).toEqual([]);
  });
});
