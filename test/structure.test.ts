// The arrows of the design, read off the import lines of the source.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from './rig.ts';

const SRC = join(ROOT, 'src');
const MAX_LINES = 300;

interface Source {
  readonly name: string;
  readonly text: string;
  /** Ours, as paths under src; the rest as they are named. */
  readonly imports: readonly string[];
}

const sources: Source[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.[jt]s$/.test(name) && !name.startsWith('web/'))
  .sort()
  .map((name) => {
    const text = readFileSync(join(SRC, name), 'utf8');
    const found = text.matchAll(
      /^(?:import|export)\b[^;]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
    );
    const imports = [...found].map(([, from, bare, late]) => (from ?? bare ?? late) as string);
    return {
      name,
      text,
      imports: imports.map((path) => (path.startsWith('.') ? normalize(join(dirname(name), path)) : path)),
    };
  });

const named = (name: string) => sources.find((source) => source.name === name) as Source;
const isOurs = (path: string) => sources.some(({ name }) => name === path);
const ours = (name: string) => named(name).imports.filter(isOurs);
const whoImports = (pattern: RegExp) =>
  sources.filter(({ imports }) => imports.some((path) => pattern.test(path))).map(({ name }) => name);
/** What a file reaches, by any number of imports. */
function reach(name: string, seen = new Set<string>()): Set<string> {
  for (const next of ours(name))
    if (!seen.has(next)) {
      seen.add(next);
      reach(next, seen);
    }
  return seen;
}

test('there is a source to read, and every import in it leads somewhere', () => {
  expect(sources.length).toBeGreaterThan(20);
  expect(named('app.ts').imports).toContain('variants/path-style.ts');
  for (const { name, imports } of sources)
    for (const path of imports.filter((path) => path.endsWith('.ts')))
      expect([name, path, isOurs(path)]).toEqual([name, path, true]);
});

describe('one direction', () => {
  test('kinds.ts imports nothing, and records.ts nothing else of ours', () => {
    expect(ours('kinds.ts')).toEqual([]);
    expect(ours('records.ts')).toEqual(['kinds.ts']);
  });

  test('nothing is above main.ts but the way in, and nothing but commands and main above serve.ts and app.ts', () => {
    expect(whoImports(/(^|\/)main\.ts$/)).toEqual(['vitrine.js']);
    expect(whoImports(/^commands\.ts$/)).toEqual(['main.ts']);
    expect(whoImports(/^serve\.ts$/).filter((name) => name !== 'supervise.ts')).toEqual(['main.ts']);
    expect(whoImports(/^app\.ts$/)).toEqual(['serve.ts']);
  });

  const FORBIDDEN: [from: RegExp, to: RegExp, why: string][] = [
    [
      /^variants\//,
      /^stores\/sqlite|^stores\/postgres|^transfer\//,
      'variants know the contract of a store, and no store',
    ],
    [/^answers\.ts$/, /^variants\/|^app|^gate|^respond|^transfer\//, 'answers are below what asks for them'],
    [
      /^stores\//,
      /^(variants|transfer)\/|^(app|gate|respond|answers|ops|serve|config|commands|normalise)\.ts$/,
      'stores are at the bottom',
    ],
    [
      /^transfer\//,
      /^variants\/|^(app|gate|respond|answers|ops|serve|config|commands)\.ts$/,
      'transfer knows nothing of serving',
    ],
    [
      /^normalise\.ts$/,
      /^(variants|transfer)\/|^stores\/sqlite|^(app|gate|respond|answers)\.ts$/,
      'normalising needs the records alone',
    ],
    [/^(app|gate|respond|ops)\.ts$/, /^transfer\/|^stores\/sqlite|^commands/, 'what serves cannot write'],
    [
      /^(errors|conditional|user-name|operations|config)\.ts$/,
      /^(variants|stores|transfer)\/|^(app|gate|respond|answers)\.ts$/,
      'words are below deeds',
    ],
  ];
  test.each(FORBIDDEN)('%s reaches nothing like %s: %s', (from, to) => {
    const starts = sources.filter(({ name }) => from.test(name));
    expect(starts.length).toBeGreaterThan(0);
    for (const { name } of starts)
      expect([name, [...reach(name)].filter((path) => to.test(path))]).toEqual([name, []]);
  });

  test('transfer goes through normalise.ts to records.ts, and variants through answers.ts to the contract', () => {
    expect(ours('transfer/import.ts')).toContain('normalise.ts');
    expect(ours('normalise.ts')).toContain('records.ts');
    expect(ours('variants/reading.ts')).toEqual(expect.arrayContaining(['answers.ts', 'stores/store.ts']));
    expect(ours('stores/store.ts')).toEqual(['kinds.ts']);
  });

  test('nothing imports in a circle', () => {
    for (const { name } of sources) expect([name, reach(name).has(name)]).toEqual([name, false]);
  });
});

describe('one place for each', () => {
  test.each([
    [/^better-sqlite3$/, /^stores\/sqlite[\w-]*\.ts$/],
    [/^pg$/, /^stores\/postgres[\w-]*\.ts$/],
    [/^fastify$|^@fastify\/type/, /^(app|router|ops|openapi|docs|pages)\.ts$|^variants\//],
    [/^commander$/, /^commands\.ts$/],
    [/^csv-parse/, /^transfer\/csv\.ts$/],
    [/^pino-pretty$/, /^log\.ts$/],
    [/^node:(process|child_process)$/, /^main\.ts$/],
  ])('%s is imported by files like %s alone', (what, who) => {
    expect(whoImports(what).filter((name) => !who.test(name))).toEqual([]);
  });

  test('the process is touched by main.ts, and by the way in that checks its version', () => {
    const code = (text: string) =>
      text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '').replace(/'(?:\\.|[^'\\\n])*'|`[^`]*`/g, "''");
    const touches = sources.filter(({ text }) =>
      /(?<![.\w])process\s*[.[]|globalThis\.process/.test(code(text)),
    );
    expect(touches.map(({ name }) => name)).toEqual(['main.ts', 'vitrine.js']);
  });

  test('node:http is had from node-http.ts: an import that is more than its types brings a web client along', () => {
    const imports = (text: string) =>
      [...text.matchAll(/^(import (?:type )?)[^;]*?'node:http'/gm)].map(([, opening]) => opening);
    for (const { name, text } of sources)
      expect([name, imports(text).filter((opening) => opening !== 'import type ')]).toEqual([name, []]);
  });

  test('console is for the way in alone', () => {
    expect(sources.filter(({ text }) => /\bconsole\./.test(text)).map(({ name }) => name)).toEqual([
      'vitrine.js',
    ]);
  });
});

describe('size and shape', () => {
  test.each(sources.map(({ name, text }) => [name, text] as const))('%s', (name, text) => {
    expect(text.split('\n').length - 1).toBeLessThan(MAX_LINES);
    expect(name).toMatch(/^([a-z]+(-[a-z]+)*\/)?[a-z0-9]+(-[a-z0-9]+)*\.(ts|js)$/);
    expect(name).not.toMatch(/utils|helpers|common|types\.ts|index\.ts/);
    const [first = '', second = ''] = text.split('\n');
    expect(first.startsWith('#!') ? second : first).toMatch(/^\/\/ \S/);
  });
});
