// Commands in any order: what `publish` and `media fetch` do with the changes alone must be what whole runs do. Other sequences
// every day; a failure prints its seed, and `TORTURE_SEED=… SEQUENCES=…` repeats a run.
import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { cleanUp } from '../support/at-end.ts';
import { ndjson, tempFolder } from '../support/files.ts';
import { startSite } from '../support/mirror-site.ts';
import { png } from '../support/pictures.ts';
import { blog, folio, post, shot } from '../support/records.ts';
import { run } from '../support/run.ts';
import { contentOf, faultsOf } from './content.ts';
import { today } from './main.ts';
import { filesIn, parseCommand } from './scenarios.ts';

const SEED = Number(process.env.TORTURE_SEED ?? today());
const SEQUENCES = Number(process.env.SEQUENCES ?? 4);
const SECONDS = 900;

afterAll(cleanUp);

/** Pictures that the site does not have now. */
let missing: readonly string[] = [];
const site = startSite(({ url = '' }, response) => {
  if (missing.includes(url)) response.writeHead(404).end();
  else response.end(png(url));
});

/** SITE and OTHER are two names of the site. */
const picture = fc
  .tuple(fc.constantFrom('SITE', 'SITE', 'OTHER'), fc.nat(7))
  .map(([host, number]) => `${host}/${number}.png`);
const pictures = fc.option(picture, { nil: '' });
const id = fc.integer({ min: 1, max: 5 });
const text = fc.constantFrom('old', 'new');
const date = fc.constantFrom('2026-01-01 10:00:00', '2026-01-02 10:00:00', '2026-01-03 10:00:00');

const record = fc
  .tuple(id, id, fc.constantFrom(blog, folio, post, shot, post, shot), text, date, pictures, pictures)
  .map(([user, nth, make, text, date, one, two]) => {
    if (make === blog || make === folio)
      return make(user, `${nth === 1 ? 'other' : 'user'}${user}`, {
        bio: text,
        avatar: one,
        cover_image: two,
      });
    return make === post
      ? post(user * 10 + nth, user, { date, post_details: text, image: one })
      : shot(user * 10 + nth, user, { date, title: text, image: one, attachment: two });
  });
const records = fc.array(record, { minLength: 1, maxLength: 30 });

const MEDIA = '--media-dir @media --media-url https://pictures.example';
const FETCH = `media fetch ${MEDIA} --rate 5000 --retries 0 --media-hosts`;
const PUBLISH = `publish --for nginx ${MEDIA} --explorer off --without pages,cards,feeds --base-url-b https://b.example/b`;
const family = fc.constantFrom('microblog', 'portfolio');

/** Commands may be refused, such as the removal of a user who is not there. */
const command = fc.oneof(
  { weight: 3, arbitrary: fc.constant('import --skip-invalid @records') },
  { weight: 1, arbitrary: fc.constant('import --skip-invalid --replace --max-removed 100% @records') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(`${FETCH} HOST`, `${FETCH} HOST OTHER-HOST`, `${FETCH} HOST --files`),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(family, id).map(([family, user]) => `remove --family ${family} user${user}`),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(family, fc.constantFrom('', '--undo '), id)
      .map(([family, undo, user]) => `takedown --media-dir @media --family ${family} ${undo}user${user}`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(family, id, id)
      .map(
        ([family, user, nth]) => `takedown --media-dir @media --family ${family} --item ${user * 10 + nth}`,
      ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      `media relink ${MEDIA}`,
      `media prune --grace 0 ${MEDIA}`,
      'snapshot @copy.db',
      'restore @copy.db',
      'check --repair',
    ),
  },
);
const missingPictures = fc.array(
  fc.nat(7).map((number) => `/${number}.png`),
  { maxLength: 4 },
);
const steps = fc.array(fc.record({ command, records, missing: missingPictures, isPublished: fc.boolean() }), {
  minLength: 10,
  maxLength: 20,
  size: 'max',
});

/** What is there before. */
const FIRST = [1, 2, 3, 4, 5].flatMap((user) => [
  blog(user, `user${user}`, { avatar: `SITE/${user}.png` }),
  folio(user, `user${user}`, { avatar: `SITE/${user + 1}.png` }),
  post(user * 10 + 1, user, { image: `SITE/${user}.png` }),
  shot(user * 10 + 1, user, { image: `OTHER/${user}.png` }),
]);

/** The published files by their names. */
function published(folder: string): Record<string, string> {
  const tree = join(realpathSync(join(folder, 'current')), 'files');
  return Object.fromEntries(filesIn(tree).map((name) => [name, readFileSync(join(tree, name), 'latin1')]));
}

async function runSteps(
  all: readonly { command: string; records: object[]; missing: string[]; isPublished: boolean }[],
): Promise<void> {
  const { url } = await site;
  const other = url.replace('127.0.0.1', 'localhost');
  const folder = tempFolder();
  const database = join(folder, 'site.db');
  async function act(line: string, mayFail = false): Promise<void> {
    const { args, env } = parseCommand(line.replace('OTHER-HOST', new URL(other).host), folder, url);
    const { code, stderr } = await run(args, { env });
    if (code !== 0 && !(mayFail && code === 1)) throw new Error(`${line} ended with ${code}: ${stderr}`);
  }
  const save = (name: string, records: object[]) =>
    writeFileSync(
      join(folder, name),
      ndjson(...records)
        .replaceAll('SITE', url)
        .replaceAll('OTHER', other),
    );
  save('records', FIRST);
  await act('import @records');
  for (const { command, records, missing: gone, isPublished } of all) {
    missing = gone;
    save('records', records);
    await act(command, true);
    if (isPublished) {
      await act(`${PUBLISH} @site`);
      rmSync(join(folder, 'whole'), { recursive: true, force: true });
      await act(`${PUBLISH} @whole`);
      expect(published(join(folder, 'site'))).toEqual(published(join(folder, 'whole')));
    }
    if (command.startsWith('media fetch')) {
      expect(await faultsOf(database)).toBe('');
      const before = contentOf(database);
      await act(`${command} --check`, true);
      expect(contentOf(database)).toBe(before);
    }
  }
}

test('sequences of commands', { timeout: SECONDS * 1000 }, async () => {
  const property = fc.asyncProperty(steps, runSteps);
  await fc.assert(property, { seed: SEED, numRuns: SEQUENCES, endOnFailure: true });
});
