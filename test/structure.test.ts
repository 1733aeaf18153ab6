// The architecture, read from import statements: which folder may import from which.
import { readdirSync, readFileSync } from 'node:fs';
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
  /** Those that Node loads: types are erased. */
  readonly loads: readonly string[];
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
      };
    });
    return {
      name,
      text,
      imports: imports.map(({ path }) => path),
      loads: imports.filter(({ isType }) => !isType).map(({ path }) => path),
    };
  });

const isOurs = (path: string) => sources.some(({ name }) => name === path);
const roomOf = (name: string) => dirname(name);
const ours = (name: string, kind: 'imports' | 'loads' = 'imports') =>
  (sources.find((source) => source.name === name) as Source)[kind].filter(isOurs);
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

/** The rooms that each room may import from, lowest first. Every room may read the table of variants. */
const ROOMS: Record<string, string> = {
  records: '',
  config: '',
  http: 'config records stores',
  edge: 'config http',
  'stores/sqlite': 'files records stores',
  'stores/postgres': 'config records stores',
  stores: 'config records stores/sqlite stores/postgres',
  telemetry: 'config edge http stores',
  views: 'config',
  routes: 'config http records samples stores views',
  openapi: 'config http records routes',
  remote: 'records stores/sqlite',
  files: '',
  formats: 'records',
  import: 'files formats records stores stores/sqlite',
  runs: 'files remote',
  mirror: 'files formats import records remote runs stores stores/sqlite',
  compare: 'files formats records remote runs',
  media: 'files records remote runs stores stores/sqlite',
  doctor: 'http records remote',
  print: 'config records telemetry',
  purge: 'changes config records remote stores',
  samples: 'import stores/sqlite',
  server: 'config edge http openapi records routes samples stores telemetry views',
  publish: 'config files http print records routes runs server stores stores/sqlite telemetry',
  changes: 'config remote stores',
  cli: 'changes compare config doctor files import media mirror print publish purge records remote stores',
  '.': 'cli config records server telemetry',
};
const VARIANTS = 'variants.ts';

/** The imports of a room's files that it may not have, as `FILE imports FILE`. */
const strays = (room: string, allowed: readonly string[]) =>
  sources
    .filter(({ name }) => roomOf(name) === room)
    .flatMap(({ name }) =>
      ours(name)
        .filter((path) => path !== VARIANTS && roomOf(path) !== room && !allowed.includes(roomOf(path)))
        .map((path) => `${name} imports ${path}`),
    );

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

describe('a request', () => {
  const guide = readFileSync(join(SRC, 'guides/architecture.md'), 'utf8');
  const section = /## A request\n([\s\S]*?)\n\n[^\d ]/.exec(guide)?.[1] ?? '';
  const hops = [...section.matchAll(/^\d+\. .*$/gm)].map(([line]) => line);
  const files = hops.flatMap((line) =>
    [...line.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file]) => file as string),
  );

  test('takes at most ten hops, and the code imports the file of each', () => {
    expect(hops.length).toBeGreaterThan(5);
    expect(hops.length).toBeLessThanOrEqual(10);
    const imported = reach('server/serve.ts');
    expect(files.filter((file) => !imported.has(file))).toEqual([]);
  });

  const hooks = sources
    .filter(({ text }) => /addHook\('(onRequest|preHandler)'/.test(text))
    .map(({ name }) => name);

  test('the guide names every file with a hook that requests pass', () => {
    expect(hooks.filter((name) => !files.includes(name))).toEqual([]);
  });

  test('passes at most 12 files: what its route and the hooks load', () => {
    const first = ['routes/path-style.ts', ...hooks];
    const files = new Set([...first, ...first.flatMap((name) => [...reach(name, 'loads')])]);
    expect([...files].length, [...files].join(' ')).toBeLessThanOrEqual(12);
  });
});

describe('one place for each dependency', () => {
  test.each([
    [/^better-sqlite3$/, /^stores\/sqlite\//],
    [/^pg$/, /^stores\/postgres\//],
    [/^fastify$|^@fastify\/(type|swagger)/, /^(server|routes|openapi|edge|http)\//],
    [/^commander$/, /^cli\//],
    [/^undici$/, /^remote\/http-client\.ts$/],
    [/^@resvg\/resvg-js$/, /^views\/preview-image\.ts$/],
    [/^marked$/, /^views\/guide-page\.ts$/],
    [/^htmlparser2$/, /^(formats\/xml|import\/map-kit)\.ts$/],
    [/^pino-pretty$/, /^telemetry\/log\.ts$/],
    [/^node:(process|child_process)$/, /^(main|edge\/connection-limit|stores\/sqlite\/inspect)\.ts$/],
  ])('%s is imported only by files like %s', (dependency, allowed) => {
    expect(importersOf(dependency).filter((name) => !allowed.test(name))).toEqual([]);
  });

  test('only main.ts and what starts it touch the process', () => {
    const code = (text: string) =>
      text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '').replace(/'(?:\\.|[^'\\\n])*'|`[^`]*`/g, "''");
    const touches = sources.filter(({ text }) =>
      /(?<![.\w])process\s*[.[]|globalThis\.process/.test(code(text)),
    );
    expect(touches.map(({ name }) => name)).toEqual(['installed.js', 'main.ts', 'vitrine.js']);
  });

  test('only vitrine.js uses console', () => {
    expect(sources.filter(({ text }) => /\bconsole\./.test(text)).map(({ name }) => name)).toEqual([
      'vitrine.js',
    ]);
  });
});

describe('size and shape', () => {
  test('src/ itself holds the entry points only', () => {
    expect(sources.filter(({ name }) => roomOf(name) === '.').length).toBeLessThanOrEqual(4);
  });

  const misshapen = (isWrong: (source: Source) => boolean) => sources.filter(isWrong).map(({ name }) => name);

  test(`no file has ${MAX_LINES} lines or more`, () => {
    expect(misshapen(({ text }) => text.split('\n').length > MAX_LINES)).toEqual([]);
  });

  test('few files have fewer than 40 lines: most of these belong to their importer', () => {
    expect(misshapen(({ text }) => text.split('\n').length <= 40).length).toBeLessThanOrEqual(35);
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
