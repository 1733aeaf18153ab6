// The README is held to the code: every setting, command and route is in it, and what it shows is what happens.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../src/cli/program.ts';
import { SETTING_NAMES, SETTINGS, variableOf } from '../src/config/config.ts';
import { ERROR_CODES, FAILURES } from '../src/http/errors.ts';
import { ask, done, ROOT, run, startServer, tempFile, tempFolder } from './rig.ts';

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** The code blocks of a language, in order. */
const blocks = (language: string) =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    (match) => match[1] as string,
  );

describe('what there is, the README names', () => {
  it.each(SETTING_NAMES.map((name) => [variableOf(name), SETTINGS[name]] as const))(
    '%s',
    (variable, setting) => {
      const standard = setting.fallback === '' ? 'none' : `\`${setting.fallback}\``;
      expect(README).toContain(`| \`${variable}\` | ${standard} | ${setting.meaning} |`);
    },
  );

  it.each(commandNames())('vitrine %s', (name) => {
    expect(README).toMatch(new RegExp(`^\\| \`vitrine ${name}\\b`, 'm'));
  });

  it('no setting and no command that is gone', () => {
    const rows = [...README.matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1]);
    expect(rows).toEqual(SETTING_NAMES.map(variableOf));
    const commands = [...README.matchAll(/^\| `vitrine (\w+)/gm)].map((match) => match[1]);
    expect(commands.sort()).toEqual(commandNames().sort());
  });

  it('every status of an error', () => {
    const text = README.split('\n').find((line) => line.startsWith('| errors |'));
    const served = ERROR_CODES.map((code) => FAILURES[code].status).filter(
      (status) => ![408, 417].includes(status),
    );
    for (const status of new Set(served)) expect(text).toContain(String(status));
  });
});

describe('what it shows is what happens', () => {
  it('each curl line prints what stands under it', async () => {
    const server = await startServer();
    const examples = [...README.matchAll(/^\$ curl (\S+)\n(.*)\n/gm)];
    expect(examples.length).toBeGreaterThan(5);
    for (const [, address = '', output] of examples) {
      const { pathname, search } = new URL(address.replaceAll("'", ''));
      expect((await ask(server, pathname + search)).body).toBe(output);
    }
    await server.stop();
  });

  it('each import format, and the refusal', async () => {
    const folder = tempFolder();
    const env = { DATABASE_URL: join(folder, 'site.db') };
    const [ndjson = '', json = ''] = blocks('json');
    const [csv = ''] = blocks('csv');
    expect(await done(['import', tempFile('people.ndjson', ndjson)], { env })).toMatch(
      /microblog profiles +1.*\nposts +1/,
    );
    expect(await done(['import', tempFile('people.csv', csv)], { env })).toMatch(/portfolio profiles +1/);
    expect(await done(['import', tempFile('shots.json', json)], { env })).toMatch(/shots +1/);

    const refused = tempFile('people.ndjson', ndjson.replace('2026-02-28', '2026-02-30'));
    const { code, stderr } = await run(['import', 'people.ndjson'], { env, cwd: join(refused, '..') });
    expect(code).toBe(1);
    expect(README).toContain(`$ vitrine import people.ndjson\n${stderr}`);
  });
});

function commandNames(): string[] {
  const program = createProgram({
    environment: {},
    stdin: [] as never,
    stdout: {} as never,
    stderr: {} as never,
    serve: async () => {},
    stopSignal: () => AbortSignal.abort(),
  });
  return program.commands.map((command) => command.name());
}
