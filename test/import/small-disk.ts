// A disk of a given size for tests of full disks: only root can mount one.
import { spawnSync } from 'node:child_process';
import { expect } from 'vitest';
import { tempFolder } from '../support/files.ts';

export const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;

/** Makes room on the disk. */
export const grow = (folder: string) =>
  expect(spawnSync('mount', ['-o', 'remount,size=64m', folder]).status).toBe(0);

export async function onDisk(kib: number, use: (folder: string) => Promise<unknown>): Promise<void> {
  const folder = tempFolder();
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tmpfs', folder]).status).toBe(0);
  try {
    await use(folder);
  } finally {
    spawnSync('umount', ['-l', folder]);
  }
}
