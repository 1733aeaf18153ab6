// A published site of a few people, and what is in its folder.
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { ManifestEntry } from '../../../src/tools/publish/manifest.ts';
import { addRecords, databaseOf } from '../../support/database.ts';
import { plainFolder, readLines, tempFolder } from '../../support/files.ts';
import { json } from '../../support/http.ts';
import { sha256 } from '../../support/pictures.ts';
import { blog, folio, post, shot } from '../../support/records.ts';
import { done, run } from '../../support/run.ts';

export const PICTURE = 'https://pictures.example/ada.jpg';
export const COPY = `${sha256('a picture')}.jpg`;
export const OLD_PICTURE = 'https://pictures.example/old.jpg';
/** Two pages of older ones. */
const ITEMS = Array.from({ length: 30 }, (_, at) => at + 1);
export const PEOPLE = [
  blog(1, 'Ada', { name: 'Ada' }),
  blog(2, 'zoë', { name: 'Zoë' }),
  blog(3, 'x'.repeat(255)),
  ...ITEMS.map((id) =>
    post(id, 1, {
      post_details: 'A text of some length. '.repeat(10),
      photo: id === 3 ? OLD_PICTURE : '',
    }),
  ),
  folio(1, 'ada', { avatar: PICTURE }),
  shot(1, 1),
];

export const entriesOf = (folder: string) =>
  readLines(join(folder, 'current/manifest.ndjson')).map((line) => JSON.parse(line) as ManifestEntry);
export const fileOf = (folder: string, path: string) => join(folder, 'current/files', path);

export async function createSite(records: object[] = PEOPLE, always: readonly string[] = []) {
  const database = await databaseOf(...records);
  const folder = join(plainFolder(), 'site');
  const mediaDir = tempFolder();
  const env: Record<string, string> = { DATABASE_URL: database, MEDIA_DIR: mediaDir, PORT: '0' };
  const publish = async (...args: string[]) => {
    const ran = await run(['publish', folder, '--for', 'nginx', '--json', ...always, ...args], { env });
    return { ...ran, ...json({ body: ran.stdout }) };
  };
  return {
    database,
    mediaDir,
    folder,
    env,
    publish,
    snapshot: join(tempFolder(), 'snapshot.db'),
    load: (...added: object[]) => addRecords(database, ...added),
    command: (...args: string[]) => done(args, { env }),
  };
}

export type TestSite = Awaited<ReturnType<typeof createSite>>;

/** The hash of each file, by path. */
export const filesOf = (folder: string) =>
  Object.fromEntries(
    readdirSync(join(folder, 'current/files'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [
        relative(realpathSync(join(folder, 'current/files')), realpathSync(path)),
        sha256(readFileSync(path)),
      ]),
  );
