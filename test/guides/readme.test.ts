// The README and the guides are up to date: lists are complete, outputs are real, links resolve.
// To bring tables and outputs up to date after a change: vitest run --config test/vitest.config.ts test/guides/readme.test.ts -u
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES, FAILURES } from '../../src/api/http/errors.ts';
import { TEXT_NAMES } from '../../src/cli/print.ts';
import { SETTING_NAMES, SETTINGS, variableName } from '../../src/config/settings.ts';
import { KIND_NAMES, KINDS, type KindName } from '../../src/records/kinds.ts';
import { type Member, SCHEMAS } from '../../src/records/schemas.ts';
import { inWords, VARIANT_NAMES, VARIANTS } from '../../src/variants.ts';
import { databaseOf } from '../support/database.ts';
import { fixture, ROOT, tempFile, tempFolder } from '../support/files.ts';
import { ask, json } from '../support/http.ts';
import { codeBlock, PAGES, readPage, section } from '../support/pages.ts';
import { done } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';
import { type LocalServer, startServer } from '../support/server.ts';
import { withOutputs } from './page-outputs.ts';

const exec = promisify(execFile);
const allPages = PAGES.map(readPage).join('\n');

describe('tables and outputs are up to date', () => {
  test('README.md', async () => {
    const [before = '', after = ''] = readPage('README.md').split(/(?=^## Your own data$)/m);
    const shown =
      (await withOutputs(before, { server: await serveHere() })) +
      (await withOutputs(after, { server: await serverWithOwnData() }));
    await expectPage('README.md', shown);
  });

  test('src/guides/settings.md', async () => {
    const page = 'src/guides/settings.md';
    const rows = /(?<=^\|---\|---\|---\|\n)(\| `[A-Z_]+` .*\n)+/m;
    await expectPage(page, readPage(page).replace(rows, await settingRows()));
  });

  test('src/guides/bring-your-data.md', async () => {
    const page = 'src/guides/bring-your-data.md';
    const shown = await withOutputs(readPage(page), { folder: folderOfExports(page) });
    await expectPage(page, shown);
  });

  test('src/guides/api.md', async () => {
    const page = 'src/guides/api.md';
    const server = await serveHere();
    const rows = /(?<=^\| field \|.*\n\|.*\|\n)(\| `.*\n)*/m;
    await expectPage(page, (await withBodies(readPage(page), server)).replace(rows, fieldRows()));
  });

  test('src/guides/tutorial.md', async () => {
    const page = 'src/guides/tutorial.md';
    const people = /<<'END'\n(.*?)END\n/s.exec(codeBlock(page, '2\\. Write your people', 'sh'))?.[1] ?? '';
    const folder = dirname(tempFile('people.ndjson', people));
    // It serves what the page's first command brings.
    const server = await serveHere({ DATABASE_URL: join(folder, 'site.db') });
    await expectPage(page, await withOutputs(readPage(page), { server, folder }));
  });

  test('src/guides/proxies.md', async () => {
    const page = 'src/guides/proxies.md';
    await expectPage(page, await withOutputs(readPage(page), { server: await serveHere() }));
  });

  test('src/guides/moving-in.md', async () => {
    const page = 'src/guides/moving-in.md';
    const folder = dirname(tempFile('names.txt', 'ada\nnikos\nnobody\nZoë\n'));
    const server = await serveHere();
    // It serves what the page's first command brings.
    const copy = await serveHere({ DATABASE_URL: join(folder, 'site.db') });
    const others = { 'https://new.example.org': copy };
    const scene = { server, site: 'https://old.example.org', others, folder };
    const shown = await withOutputs(readPage(page), scene);
    await expectPage(page, shown);
  });
});

describe('nothing is missing', () => {
  test.each(TEXT_NAMES)('vitrine print %s', (name) => {
    expect(allPages).toContain(`vitrine print ${name}`);
  });

  test('every route', async () => {
    const { paths } = json(await ask(await serveHere(), '/openapi.json'));
    for (const path of [...Object.keys(paths), '/docs', '/openapi.json', '/embed.js', '/metrics']) {
      const pattern = path.replace(/[.?]/g, '\\$&').replace(/\{.*?\}/g, '[^/\\s]+');
      expect([path, new RegExp(`${pattern}/?(?![\\w/])`).test(allPages)]).toEqual([path, true]);
    }
  });

  test('every code of an error, with its status', () => {
    const rows = section('src/guides/errors.md', 'Every code').matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm);
    const listed = [...rows].map(([, code, status]) => `${status} ${code}`);
    expect(listed.toSorted()).toEqual(
      ERROR_CODES.map((code) => `${FAILURES[code].status} ${code}`).toSorted(),
    );
  });

  test('every room of src/', () => {
    const listed = [...readPage('.github/CONTRIBUTING.md').matchAll(/^\| `([a-z/]+)\/` \|/gm)];
    expect(listed.map(([, room]) => room).sort()).toEqual(rooms());
  });

  test('the headline figures of the benchmark are in its table', () => {
    const figures = betweenMarkers('README.md').match(/[\d.]+(?= µs)/g) ?? [];
    expect(figures.length).toBeGreaterThan(1);
    for (const figure of figures)
      expect(betweenMarkers('src/guides/promises.md')).toMatch(new RegExp(`\\| \\**${figure}\\**`));
  });

  test.each(PAGES.slice(1))('the README links to %s', (path) => {
    expect(readPage('README.md')).toContain(`](${path})`);
  });
});

describe.each(PAGES)('%s', (path) => {
  test('links lead to pages and headings that exist', () => {
    for (const [, target = ''] of textOf(path).matchAll(/(?:\]\(|src(?:set)?=")((?!https?:)[^)\s"]+)/g)) {
      const [file = '', anchor] = target.split('#');
      const linked = file === '' ? path : join(dirname(path), file);
      expect([target, existsSync(join(ROOT, linked))]).toEqual([target, true]);
      if (anchor !== undefined) expect(anchorsOf(linked)).toContain(anchor);
    }
  });

  test('files named in it exist', () => {
    const page = readPage(path);
    for (const [, file = ''] of page.matchAll(/`((?:src|test|fixtures|migrations|\.ci)\/[\w./-]*)`/g))
      expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
    const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).map((name) =>
      basename(name),
    );
    for (const [, name] of page.matchAll(/`([\w.-]+\.test\.ts)`/g)) expect(tests).toContain(name);
  });
});

describe('prose is plain', () => {
  /** Guides, one at a time; a colon at the end of a paragraph introduces a list or code. */
  const sentencesOf = (path: string) =>
    textOf(path)
      .replace(/<!--.*?-->|<[^>\n]+>/gs, '')
      .replace(/^\s*[|#>].*$/gm, '')
      .replace(/`[^`\n]*`/g, 'X')
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/https?:\S+/g, 'X')
      .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
      .map((block) =>
        block
          .replace(/\s+/g, ' ')
          .trim()
          .replace(/^(?:[-*]|\d+\.) /, '')
          .replace(/:$/, '.'),
      )
      .flatMap((block) => block.split(/(?<=[.!?]\**) /))
      .filter((sentence) => sentence !== '');

  const pages = [...PAGES, '.github/SECURITY.md'].filter((path) => !path.endsWith('changelog.md'));

  test.each(pages)('no sentence of %s has more than 30 words', (path) => {
    expect(sentencesOf(path).filter((sentence) => sentence.split(' ').length > 30)).toEqual([]);
  });

  test.each(pages)('few sentences of %s have a colon or a semicolon', (path) => {
    const sentences = sentencesOf(path);
    const joined = sentences.filter((sentence) => /[:;] /.test(sentence));
    expect(joined.length / sentences.length, joined.join('\n')).toBeLessThanOrEqual(0.25);
  });

  test('fewer still of all pages together', () => {
    const sentences = pages.flatMap(sentencesOf);
    expect(sentences.filter((sentence) => /[:;] /.test(sentence)).length / sentences.length).toBeLessThan(
      0.15,
    );
  });
});

test('the guide tells what each form of a field takes', () => {
  const rows = section('src/guides/bring-your-data.md', 'Records').match(/(?<=^\| )[a-z-]+(?= \| )/gm) ?? [];
  const forms = KIND_NAMES.flatMap((kind) => membersOf(kind).map(([, schema]) => schema['x-form']));
  for (const form of new Set(forms)) expect(rows).toContain(form);
});

test('every field of the log is in the guide', async () => {
  const log = section('src/guides/running.md', 'Log');
  const server = await startServer({ ACCESS_LOG: 'on', ADMIN_PORT: '0', WORKERS: '2' });
  for (const path of ['/a/api/?user=ada', '/b/api/username/ada/shots', '/nothing']) await ask(server, path);
  await server.stop();
  const fields = new Set(server.log.flatMap((line) => Object.keys(JSON.parse(line))));
  expect([...fields].filter((field) => !log.includes(`\`${field}\``))).toEqual([]);
  expect(fields).toContain('bytes');
});

test('each import format of the guide is imported', async () => {
  const env = { DATABASE_URL: join(tempFolder(), 'site.db') };
  const formats = section('src/guides/bring-your-data.md', 'Formats');
  const [ndjson = '', saved = ''] = [...formats.matchAll(/^```json\n(.*?)^```/gms)].map(
    ([, code = '']) => code,
  );
  const csv = codeBlock('src/guides/bring-your-data.md', 'Formats', 'csv');
  expect(await done(['import', tempFile('people', ndjson)], { env })).toMatch(
    /microblog profiles +1.*\nposts +1/,
  );
  expect(await done(['import', tempFile('people', csv)], { env })).toMatch(/portfolio profiles +1/);
  expect(await done(['import', tempFile('shots', saved)], { env })).toMatch(/shots +1/);
});

test.each([
  ['React, Vue, TypeScript', 'ts', 'load.ts'],
  ['In React', 'tsx', 'react.tsx'],
])('the recipe "%s" is a front-end that is tested', (title, language, file) => {
  const [, code = ''] = readFileSync(join(ROOT, 'test/front-ends', file), 'utf8').split(/\n(.*)/s);
  const shown = codeBlock('src/guides/recipes.md', title, language).replace(/^\/\/ load\.ts\n/, '');
  expect(shown.trim()).toBe(code.trim());
});

describe('in a checkout', () => {
  const [, checkout = ''] = /^In a checkout, write `([^`]*) COMMAND`/m.exec(allPages) ?? [];
  const redirected = [...allPages.matchAll(/^(?:\$ )?vitrine ([^|>\n]*) > \S+$/gm)].map(
    ([, words = '']) => words,
  );

  test('every command is shown as it works there', () => {
    for (const text of [
      allPages,
      readPage('src/vitrine.js'),
      readPage('src/pages/explorer/explorer-page.ts'),
    ])
      for (const [shown] of text.matchAll(/npm run (?:-s )?vitrine --/g)) expect(shown).toBe(checkout);
  });

  test('what is redirected into a file is what the command prints, and nothing else', async () => {
    expect(redirected.length).toBeGreaterThan(3);
    const commands = [redirected[0] as string, 'export', 'media status --missing'];
    const env = { DATABASE_URL: await databaseOf(fixture('portfolio.ndjson')) };
    const folder = tempFolder();
    const script = commands
      .map((command, index) => `${checkout} ${command} > '${folder}/${index}'\n`)
      .join('');
    const { PATH, HOME } = process.env;
    await exec('sh', ['-ec', script], { cwd: ROOT, env: { PATH, HOME, ...env } });
    for (const [index, command] of commands.entries())
      expect(readFileSync(join(folder, String(index)), 'utf8')).toBe(await done(command.split(' '), { env }));
  });
});

/** Compares with the page as it is; with `-u` it is rewritten. */
async function expectPage(path: string, shown: string): Promise<void> {
  await expect(shown).toMatchFileSnapshot(join(ROOT, path));
}

/** Runs the commands of "Your own data" in a fresh checkout, except the last, which starts the server. */
async function serverWithOwnData(): Promise<LocalServer> {
  const checkout = tempFolder();
  for (const name of ['package.json', 'src', 'node_modules'])
    symlinkSync(join(ROOT, name), join(checkout, name));
  const script = codeBlock('README.md', 'Your own data', 'sh');
  const start = 'npm start -- people.ndjson\n';
  expect(script.endsWith(start)).toBe(true);
  writeFileSync(join(checkout, 'paste.sh'), script.slice(0, -start.length));
  await exec('bash', ['-e', 'paste.sh'], { cwd: checkout });
  return serveHere({}, [join(checkout, 'people.ndjson')]);
}

/** The exports of the guide and their maps, and the files of its smaller examples. */
function folderOfExports(page: string): string {
  const folder = tempFolder();
  cpSync(join(ROOT, 'fixtures/exports'), folder, { recursive: true });
  const people = codeBlock(page, 'Formats', 'json');
  const ownerless = '{"id":"91","user":"9","date":"2026-02-28 10:00:00"}\n';
  writeFileSync(join(folder, 'people.ndjson'), people.replace('2026-02-28', '2026-02-30') + ownerless);
  return folder;
}

const membersOf = (kind: KindName) => Object.entries(SCHEMAS[kind].properties as Record<string, Member>);

/** The first JSON block under each heading that is an address shows what is there; a list is cut after its first item. */
async function withBodies(page: string, server: LocalServer): Promise<string> {
  const parts = page.split(/(?<=^### `(\/.*?)`\n(?:(?!#).*\n)*?```json\n)(?:.|\n)*?(?=^```$)/m);
  for (const [index, path] of parts.entries()) {
    if (index % 2 === 0) continue;
    const body: object = json(await ask(server, path));
    const cut = Object.entries(body).map(([name, value]) => [
      name,
      Array.isArray(value) ? [value[0]] : value,
    ]);
    const text = JSON.stringify(Object.fromEntries(cut), null, 2);
    parts[index] = `${text.replaceAll(server.url, 'http://127.0.0.1:8080')}\n`;
  }
  return parts.join('');
}

/** A row for each field, with the records that have it in this form. */
function fieldRows(): string {
  const owner = (kind: KindName) => {
    const { family, role } = KINDS[kind];
    const variants = VARIANT_NAMES.filter((name) => VARIANTS[name].family === family);
    return role === 'profile' ? `profile ${inWords(variants)}` : kind;
  };
  const fields = KIND_NAMES.flatMap((kind) =>
    membersOf(kind).map(([name, { 'x-form': form, default: absent }]) => {
      const text = absent === '' ? 'empty' : `\`${absent}\``;
      return { end: `${form} | ${absent === undefined ? 'never' : text}`, name, owner: owner(kind) };
    }),
  );
  const rows = Map.groupBy(fields, ({ name, end }) => `\`${name}\`|${end}`);
  return [...rows.values()]
    .map((group) => {
      const { name, end } = group[0] as (typeof fields)[number];
      return `| \`${name}\` | ${group.map(({ owner }) => owner).join(', ')} | ${end} |\n`;
    })
    .join('');
}

/** The defaults are what `vitrine config` shows where nothing is set. */
async function settingRows(): Promise<string> {
  const { result } = JSON.parse(await done(['config', '--json'], { env: {} }));
  const defaults = new Map<string, string | null>(
    result.settings.map(({ name, value }: { name: string; value: string | null }) => [name, value]),
  );
  return SETTING_NAMES.map((name) => {
    const variable = variableName(name);
    const value = defaults.get(variable) ?? null;
    return `| \`${variable}\` | ${value === null ? 'none' : `\`${value}\``} | ${SETTINGS[name].meaning} |\n`;
  }).join('');
}

const betweenMarkers = (path: string) => readPage(path).split(/<!-- bench:(?:start|end) -->/)[1] ?? '';

/** The folders of src/ that hold code of the server, and the rooms that they are in. */
function rooms(): string[] {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const folders = files
    .filter((name) => /(?<!\.d)\.ts$/.test(name) && name.includes('/'))
    .map((name) => dirname(name));
  return [...new Set(folders.flatMap((folder) => [folder, folder.split('/')[0] as string]))].sort();
}

/** The page without its code blocks. */
const textOf = (path: string) => readPage(path).replace(/^```.*?^```$/gms, '');

/** Anchors as GitHub makes them. */
function anchorsOf(path: string): string[] {
  return [...textOf(path).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
