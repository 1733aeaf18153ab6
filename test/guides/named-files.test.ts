// Files and functions that guides and comments name are there.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/files.ts';
import { PAGES, readPage } from '../support/pages.ts';

const FILES = globSync(['src/**/*', 'test/**/*', 'migrations/**/*', 'fixtures/**/*'], {
  cwd: ROOT,
  exclude: (name) => name === 'node_modules',
});
const NAMES = new Set(FILES.map((file) => basename(file)));
const ROOTS = [
  ...['api', 'cli', 'config', 'import', 'pages', 'records', 'server', 'stores', 'tools'],
  ...['src', 'test', 'migrations', 'fixtures'],
];

/** Such as `api/lookup.ts`, `src/api/lookup.ts`, `hooks.ts`, and with a function `api/lookup.ts:answerLookup`. */
const NAMED = /(?<![\w./@<-])((?:[\w-]+\/)*[\w.-]+\.(?:ts|js|sql))(?::([A-Za-z]\w*))?(?![\w/])/g;

/** What is named and not there. */
function lost(text: string): string[] {
  return [...text.matchAll(NAMED)].flatMap(([named, path = '', name]) => {
    const atRoot = NAMES.has(path) ? path : undefined;
    const file = path.includes('/') ? find(path) : atRoot;
    if (file === undefined) return [named];
    const isThere =
      name === undefined ||
      new RegExp(`\\b${name}\\b(?: =|[(<])`).test(readFileSync(join(ROOT, file), 'utf8'));
    return isThere ? [] : [named];
  });
}

const find = (path: string) => [path, `src/${path}`].find((one) => FILES.includes(one));

const commentsOf = (file: string) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const pattern = file.endsWith('.sql') ? /--.*$/gm : /(?<=^|\s)\/\/.*$|\/\*[\s\S]*?\*\//gm;
  return (text.match(pattern) ?? []).join('\n');
};

describe('files and functions that are named are there', () => {
  test.each(['.github/CONTRIBUTING.md', '.github/SECURITY.md'])('%s', (page) => {
    expect(lost(readFileSync(join(ROOT, page), 'utf8'))).toEqual([]);
  });

  test('guides', () => {
    // Readers have files of their own, such as load.ts.
    const inRooms = (text: string) => lost(text).filter((named) => ROOTS.includes(named.split('/')[0] ?? ''));
    expect(PAGES.flatMap((page) => inRooms(readPage(page)).map((named) => `${page}: ${named}`))).toEqual([]);
  });

  test('comments', () => {
    const files = FILES.filter((file) => /^(?:src|migrations)\/.*\.(?:ts|sql|js)$/.test(file));
    expect(files.length).toBeGreaterThan(200);
    expect(files.flatMap((file) => lost(commentsOf(file)).map((named) => `${file}: ${named}`))).toEqual([]);
  });

  test('each table in which deleted rows may hold names, in the VACUUM of the guide', () => {
    const schema = readFileSync(join(ROOT, 'migrations/postgres/schema.sql'), 'utf8');
    const tables = [...schema.matchAll(/^CREATE TABLE IF NOT EXISTS (\w+)/gm)].map(([, table]) => table);
    // Hashes, numbers, and where to send changes.
    const nameless = ['takedown_salts', 'takedowns', 'takedown_marks', 'counts'];
    const others = [...nameless, 'vitrine', 'generations', 'subscribers'];
    const [, rewritten = ''] = /`VACUUM \(FULL\) ([\w, ]+)`/.exec(readPage('src/guides/takedown.md')) ?? [];
    expect([...rewritten.split(', '), ...others].sort()).toEqual(tables.sort());
  });

  test('a name that is lost is found', () => {
    const text =
      '`api/lookup.ts:answerLookup` `routes/lookup.ts` `api/gone.ts` `api/lookup.ts:gone` `gone.ts`';
    expect(lost(text)).toEqual(['routes/lookup.ts', 'api/gone.ts', 'api/lookup.ts:gone', 'gone.ts']);
  });
});

test("at most 12 files, each importing the next, lead from serve to a list's SQL", () => {
  const shown = /<!-- files: from serve to SQL -->([\s\S]*?)<!-- end -->/.exec(
    readPage('.github/CONTRIBUTING.md'),
  )?.[1];
  const files = [...(shown ?? '').matchAll(/`([^`]+)`/g)].map(([, file]) => file as string);
  expect(files.length).toBeGreaterThan(5);
  expect(files.length).toBeLessThanOrEqual(12);
  const text = (file: string) => readFileSync(join(ROOT, 'src', file), 'utf8');
  const importers = (file: string) =>
    files.slice(0, files.indexOf(file)).filter((other) => text(other).includes(`/${basename(file)}'`));
  expect(files.slice(1).filter((file) => importers(file).length === 0)).toEqual([]);
});
