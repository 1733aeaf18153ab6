// The image of the card holds the copy of the avatar, in the size that there is, and initials where there is none.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { copyPath, smallName } from '../../../src/records/copy-files.ts';
import { databaseOf } from '../../support/database.ts';
import { tempFile } from '../../support/files.ts';
import { ask } from '../../support/http.ts';
import { putCopy } from '../../support/media-folder.ts';
import { blog } from '../../support/records.ts';
import { serveHere } from '../../support/serve-here.ts';

const MEDIA_URL = 'http://media.example/media';

test('a copy, its small picture, or the copy of the large avatar', async () => {
  const folder = `${tempFile('avatars', '')}.media`;
  const small = putCopy(folder, Buffer.from('a small avatar'), 'jpg');
  const heavy = putCopy(folder, Buffer.alloc(200 * 1024, 1), 'jpg');
  const path = join(folder, copyPath(smallName(heavy, 240)));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'the small picture');
  const alone = putCopy(folder, Buffer.alloc(200 * 1024, 2), 'jpg');
  const url = (name: string) => `${MEDIA_URL}/${name}`;
  const elsewhere = 'https://old.example/a.jpg';
  const people = {
    copy: { avatar: url(small) },
    heavy: { avatar: url(heavy) },
    large: { avatar: elsewhere, avatar_large: url(small) },
    alone: { avatar: url(alone) },
    none: { avatar: elsewhere },
  };
  const records = Object.entries(people).map(([name, avatars], nth) => blog(nth + 1, name, avatars));
  const server = await serveHere({
    DATABASE_URL: await databaseOf(...records),
    MEDIA_DIR: folder,
    MEDIA_URL,
  });
  const shown = async (name: string) => {
    const { body } = await ask(server, `/card/a/${name}.svg`);
    const [, data] = /<image href="data:image\/\w+;base64,([^"]*)"/.exec(body) ?? [];
    return data && Buffer.from(data, 'base64').toString();
  };
  expect(await shown('copy')).toBe('a small avatar');
  expect(await shown('heavy')).toBe('the small picture');
  expect(await shown('large')).toBe('a small avatar');
  expect([await shown('alone'), await shown('none')]).toEqual([undefined, undefined]);
});
