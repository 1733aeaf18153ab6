// The rate of requests to another site: it starts low, rises with each response, and halves with each sign of overload.
import { expect, test } from 'vitest';
import { createPace } from '../../../src/tools/remote/host.ts';

const { signal } = new AbortController();
/** Overload that a request of any time shows. */
const NOW = Number.POSITIVE_INFINITY;

function respond(pace: ReturnType<typeof createPace>, times: number): number {
  for (let time = 0; time < times; time++) pace.responded();
  return pace.rate();
}

test('starts as told, and rises to its bound', () => {
  const pace = createPace({ rate: 100, startRate: 10 }, signal);
  expect([pace.rate(), respond(pace, 10) < 30, respond(pace, 100)]).toEqual([10, true, 100]);
  const slow = createPace({ rate: 2, startRate: 10 }, signal);
  expect([slow.rate(), respond(slow, 100)]).toEqual([2, 2]);
});

test('halves with each sign of overload, then rises slowly, and never exceeds its bound', () => {
  const pace = createPace({ rate: 100, startRate: 100 }, signal);
  pace.overloaded(NOW);
  expect(pace.rate()).toBe(50);
  pace.overloaded(NOW);
  expect(pace.rate()).toBe(25);
  expect(respond(pace, 20)).toBeLessThan(40);
  expect(respond(pace, 200)).toBe(100);
  for (let time = 0; time < 50; time++) pace.overloaded(NOW);
  expect(pace.rate()).toBe(0.5);
  const slow = createPace({ rate: 0.1, startRate: 10 }, signal);
  slow.overloaded(NOW);
  expect(slow.rate()).toBe(0.1);
});

test('overload of requests that were under way together counts once', async () => {
  const pace = createPace({ rate: 100, startRate: 100 }, signal);
  const together = [await pace.waitForSlot(), await pace.waitForSlot()];
  for (const sentAt of together) pace.overloaded(sentAt);
  expect(pace.rate()).toBe(50);
  pace.overloaded(await pace.waitForSlot());
  expect(pace.rate()).toBe(25);
});
