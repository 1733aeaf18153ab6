// The architecture, read from import statements: the floors and their one direction, what a command loads before it runs, and
// what tests may need.
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/files.ts';

const SRC = join(ROOT, 'src');

interface Source {
  readonly name: string;
  readonly text: string;
  /** Our own files as paths under src; packages by name. */
  readonly imports: readonly string[];
  /** Those that Node loads with it: types are erased, and others are loaded when they are used. */
  readonly loads: readonly string[];
  readonly loadsLate: readonly string[];
  /** The line of an import, as an editor finds it. */
  readonly lineOf: ReadonlyMap<string, string>;
}

const sources: Source[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.[jt]s$/.test(name) && !name.startsWith('pages/web/'))
  .sort()
  .map((name) => {
    const text = readFileSync(join(SRC, name), 'utf8');
    const found = text.matchAll(
      /^(?:import|export)\b[^;]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
    );
    const imports = [...found].map(({ index, 0: statement, 1: from, 2: bare, 3: late }) => {
      const path = (from ?? bare ?? late) as string;
      const line = text.slice(0, index + statement.lastIndexOf(path)).split('\n').length;
      return {
        path: path.startsWith('.') ? normalize(join(dirname(name), path)) : path,
        isType: /^(import|export) type\b/.test(statement),
        isLate: late !== undefined,
        line: `src/${name}:${line}`,
      };
    });
    return {
      name,
      text,
      imports: imports.map(({ path }) => path),
      loads: imports.filter(({ isType, isLate }) => !isType && !isLate).map(({ path }) => path),
      loadsLate: imports.filter(({ isLate }) => isLate).map(({ path }) => path),
      lineOf: new Map(imports.map(({ path, line }) => [path, line])),
    };
  });

const isOurs = (path: string) => sources.some(({ name }) => name === path);
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

/** The floors, from the ground up: each file imports from its own floor or from those below it. */
const FLOORS = [
  'records',
  'variants.ts',
  'config',
  'stores stores/sql stores/sqlite stores/postgres',
  'import/formats',
  'import',
  'import/samples',
  'api/http',
  'api',
  'api/openapi',
  'pages/languages',
  'pages',
  'pages/people',
  'pages/directory pages/docs',
  'pages/explorer',
  'server/edge',
  'server/telemetry',
  'server',
  'tools/remote',
  'tools/compare tools/doctor tools/media tools/mirror tools/notify tools/print',
  'tools/publish tools/takedown',
  'cli',
  'main.ts',
  'vitrine.js',
].map((floor) => floor.split(' '));

/** The folder of a file; files of src/ itself stand for themselves. */
const placeOf = (name: string) => (name.includes('/') ? dirname(name) : name);
const floorOf = (name: string) => FLOORS.findIndex((places) => places.includes(placeOf(name)));

/** Folders of one floor are apart, but for those of one room. */
const mayImport = (from: string, to: string) =>
  floorOf(to) < floorOf(from) ||
  placeOf(to) === placeOf(from) ||
  (floorOf(to) === floorOf(from) && placeOf(from).startsWith('stores'));

test('tests of the quick lane use no helper that needs another program', () => {
  const imports = (file: string) =>
    [...readFileSync(join(ROOT, 'test', file), 'utf8').matchAll(/ from '(\.{1,2}\/(?!.*\bsrc\/)[^']+\.ts)'/g)]
      .map(([, name]) => normalize(join(dirname(file), name as string)))
      .filter((name) => !name.startsWith('..'));
  const reaches = (file: string): boolean => file === 'support/programs.ts' || imports(file).some(reaches);
  const quick = globSync('**/*.test.ts', {
    cwd: join(ROOT, 'test'),
    exclude: ['**/*.slow.test.ts', 'torture/**'],
  });
  expect(quick.length).toBeGreaterThan(40);
  expect(quick.filter(reaches)).toEqual([]);
});

test('every import resolves', () => {
  expect(sources.length).toBeGreaterThan(20);
  const lost = sources.flatMap(({ name, imports }) =>
    imports.filter((path) => path.endsWith('.ts') && !isOurs(path)).map((path) => `${name} imports ${path}`),
  );
  expect(lost).toEqual([]);
});

test('every folder has its floor', () => {
  expect([...new Set(sources.map(({ name }) => placeOf(name)))].sort()).toEqual(FLOORS.flat().sort());
});

test('no import goes up, or across to another tool', () => {
  const wrong = sources.flatMap(({ name, lineOf }) =>
    ours(name)
      .filter((path) => !mayImport(name, path))
      .map((path) => `${lineOf.get(path)} imports ${path}`),
  );
  expect(wrong).toEqual([]);
});

test('there are no import cycles', () => {
  const circular = sources.filter(({ name }) => reach(name).has(name));
  const lines = circular.flatMap(({ name, lineOf }) =>
    ours(name)
      .filter((path) => reach(path).has(name))
      .map((path) => `${lineOf.get(path)} imports ${path}`),
  );
  expect(lines).toEqual([]);
});

test.each(sourceOf('cli/program.ts').loadsLate)('%s loads what is heavy when its command runs', (command) => {
  const heavy = /^(@sinclair\/typebox.*|undici|better-sqlite3|fastify|pino|pg|htmlparser2)$/;
  const loading = [command, ...reach(command, 'loads')].filter((name) =>
    sourceOf(name).loads.some((path) => heavy.test(path)),
  );
  expect(loading).toEqual([]);
});

describe('the dependencies in package.json', () => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  /** Types only, which no declaration that ships needs. */
  const ERASED = ['schema-dts'];

  test('are the packages that src/ imports', () => {
    const packages = sources
      .flatMap(({ imports }) => imports.filter((path) => !/^node:|\/.*\.[jt]s$/.test(path) && !isOurs(path)))
      .map((path) => /^(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? '');
    const declared = [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...ERASED];
    expect(declared.sort()).toEqual([...new Set(packages)].sort());
  });

  test.each(ERASED)('but for %s, of which only types are imported', (name) => {
    expect(sources.filter(({ loads, loadsLate }) => [...loads, ...loadsLate].includes(name))).toEqual([]);
  });

  test('begin with the five that the design names', () => {
    expect(Object.keys(dependencies).slice(0, 5)).toEqual([
      'fastify',
      '@fastify/type-provider-typebox',
      '@sinclair/typebox',
      'better-sqlite3',
      'pino',
    ]);
  });

  // So Fastify is no peer dependency: the app may be one of the next major, and the package's own copy is not loaded.
  test('the plugin runs on the Fastify of its host, and loads none', () => {
    const loaded = ['server/plugin.ts', ...reach('server/plugin.ts', 'loads')];
    expect(loaded.length).toBeGreaterThan(20);
    expect(loaded.filter((name) => sourceOf(name).loads.includes('fastify'))).toEqual([]);
  });

  test('sharp alone is optional', () => {
    expect(Object.keys(optionalDependencies)).toEqual(['sharp']);
  });
});

describe('one place for each dependency', () => {
  test.each([
    [/^better-sqlite3$/, /^stores\/sqlite\//],
    [/^pg$/, /^stores\/postgres\//],
    [/^fastify$|^@fastify\/(type|swagger)/, /^(server|pages|api)\//],
    [/^commander$/, /^cli\//],
    [/^undici$/, /^tools\/remote\/http-client\.ts$/],
    [/^marked$/, /^pages\/docs\/guide-page\.ts$/],
    [/^htmlparser2$/, /^import\/(formats\/xml|map-kit)\.ts$/],
    [/^import\//, /^(import|tools|cli)\/|^server\/serve\.ts$/],
    [/^pino-pretty$/, /^server\/telemetry\/log\.ts$/],
    [/^node:(process|child_process)$/, /^(main|server\/edge\/http-server)\.ts$/],
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
  test('src/ has ten rooms', () => {
    const rooms = readdirSync(SRC, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(rooms.map(({ name }) => name).sort()).toEqual(
      ['api', 'cli', 'config', 'guides', 'import', 'pages', 'records', 'server', 'stores', 'tools'].sort(),
    );
  });

  const misshapen = (isWrong: (source: Source) => boolean) => sources.filter(isWrong).map(({ name }) => name);

  test('files are named in kebab-case for what they are', () => {
    expect(
      misshapen(
        ({ name }) =>
          !/^([a-z]+(-[a-z]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*\.(ts|js|d\.ts)$/.test(name) ||
          /utils|helpers|common|(^|\/)(types|index)\.ts/.test(name),
      ),
    ).toEqual([]);
  });

  test('every file begins with a comment that says what it is for', () => {
    expect(misshapen(({ text }) => !/^(#!.*\n)?\/\/ \S/.test(text))).toEqual([]);
  });

  test('a blank line stands between that comment and types, which tsc drops from dist/', () => {
    expect(
      misshapen(({ text }) => /^(\/\/.*\n)+(import type|export type|type|interface) /.test(text)),
    ).toEqual([]);
  });
});
