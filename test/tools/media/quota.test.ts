// How much the folder of copies may hold.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyPath, smallName } from '../../../src/records/copy-files.ts';
import { createMediaFolder } from '../../../src/stores/media-folder.ts';
import { openQuota } from '../../../src/tools/media/quota.ts';
import { tempFolder } from '../../support/files.ts';
import { putCopy } from '../../support/media-folder.ts';

test('a run counts the files that are there, and those that it keeps', async () => {
  const folder = createMediaFolder(join(tempFolder(), 'media'));
  await folder.prepare();
  putCopy(folder.path, 'a'.repeat(100));
  const quota = openQuota(folder, 300);
  quota.take(150);
  expect(() => quota.take(51)).toThrow('the copies take all of --media-quota');
  quota.release(150);
  quota.take(200);
  expect(() => quota.refuseIfFull()).toThrow('--media-quota');
  putCopy(folder.path, 'b'.repeat(201));
  expect(() => openQuota(folder, 300).refuseIfFull()).toThrow('--media-quota');
});

test('a run counts small pictures, which lie beside their copies', async () => {
  const folder = createMediaFolder(join(tempFolder(), 'media'));
  const copy = putCopy(folder.path, 'a'.repeat(100));
  for (const width of [240, 480])
    writeFileSync(join(folder.path, copyPath(smallName(copy, width))), 'b'.repeat(50));
  const quota = openQuota(folder, 300);
  quota.take(100);
  expect(() => quota.refuseIfFull()).toThrow('--media-quota');
});
