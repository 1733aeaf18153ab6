// How many connections are allowed: the lowest of the setting and what open files and memory leave room for.
import { expect, test } from 'vitest';
import { affordableConnections } from '../../../src/server/edge/http-server.ts';

const MB = 2 ** 20;
const NONE = Number.POSITIVE_INFINITY;

test('connections are bounded by the setting, the open files and the memory of a worker', () => {
  const cases: [maxConnections: number, workers: number, files: number, memory: number, most: number][] = [
    [10_000, 1, NONE, NONE, 10_000],
    // 64 files are reserved, or half of few.
    [10_000, 1, 1024, NONE, 960],
    [10_000, 1, 100, NONE, 50],
    // 40 KB each of what is above 96 MB.
    [10_000, 1, NONE, 128 * MB, 819],
    [10_000, 1, NONE, 256 * MB, 4096],
    [20_000, 1, NONE, 512 * MB, 10_649],
    // Workers share the memory.
    [10_000, 2, NONE, 256 * MB, 819],
    [10_000, 4, NONE, 256 * MB, 256],
    [10_000, 1, NONE, 64 * MB, 256],
    [100, 1, 1024, 64 * MB, 100],
  ];
  for (const [maxConnections, workers, files, memory, most] of cases)
    expect([files, memory, affordableConnections({ maxConnections, workers }, { files, memory })]).toEqual([
      files,
      memory,
      most,
    ]);
});
