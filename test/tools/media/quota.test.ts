// How much the folder of copies holds is noted in it.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMediaFolder } from '../../../src/tools/media/folder.ts';
import { openQuota } from '../../../src/tools/media/quota.ts';
import { tempFolder } from '../../support/files.ts';
import { putCopy } from '../../support/media-folder.ts';

async function folderWith(...sizes: number[]) {
  const folder = createMediaFolder(join(tempFolder(), 'media'));
  await folder.prepare();
  for (const [nth, size] of sizes.entries()) putCopy(folder.path, `${nth}`.repeat(size));
  return folder;
}

test('the noted size counts, and the folder is measured before a run gives up', async () => {
  const folder = await folderWith(100);
  {
    using quota = openQuota(folder, 300, false);
    quota.take(150);
    quota.settle(150, true);
  }
  // A takedown has removed the second file.
  using quota = openQuota(folder, 300, false);
  quota.take(150);
  expect(() => quota.take(60)).toThrow('the copies take all of --media-quota');
  quota.settle(150, false);
  quota.take(200);
  expect(() => quota.refuseIfFull()).toThrow('--media-quota');
});

test('a run that was killed, or that another meets, leaves no size', async () => {
  const folder = await folderWith(100);
  openQuota(folder, 300, false);
  putCopy(folder.path, 'b'.repeat(150));
  const quota = openQuota(folder, 300, false);
  expect(() => quota.take(60)).toThrow('--media-quota');
  const other = openQuota(folder, 300, false);
  for (const one of [quota, other]) one[Symbol.dispose]();
  expect(folder.takeNotedSize()).toBeUndefined();
  const last = openQuota(folder, 300, false);
  last[Symbol.dispose]();
  expect(folder.takeNotedSize()).toBe(250);
});
