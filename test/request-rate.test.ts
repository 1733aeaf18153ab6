// The rate of requests to another site: it starts low, rises with each response, and halves with each sign of overload.
import { expect, test } from 'vitest';
import { createRequestRate } from '../src/remote/pace.ts';

function respond(rate: ReturnType<typeof createRequestRate>, times: number): number {
  for (let time = 0; time < times; time++) rate.responded();
  return rate.current();
}

test('starts at 10 a second, or as told, and rises to its bound', () => {
  const rate = createRequestRate({ rate: 100 });
  expect([rate.current(), respond(rate, 10) < 30, respond(rate, 100)]).toEqual([10, true, 100]);
  expect(createRequestRate({ rate: 100, startRate: 50 }).current()).toBe(50);
  const slow = createRequestRate({ rate: 2 });
  expect([slow.current(), respond(slow, 100)]).toEqual([2, 2]);
});

test('halves with each sign of overload, and then rises more slowly', () => {
  const rate = createRequestRate({ rate: 100 });
  respond(rate, 100);
  rate.overloaded();
  expect(rate.current()).toBe(50);
  rate.overloaded();
  expect(rate.current()).toBe(25);
  expect(respond(rate, 20)).toBeLessThan(40);
  expect(respond(rate, 200)).toBe(100);
  for (let time = 0; time < 50; time++) rate.overloaded();
  expect(rate.current()).toBe(0.5);
});

test('has no floor above its bound', () => {
  const rate = createRequestRate({ rate: 0.1 });
  rate.overloaded();
  expect(rate.current()).toBe(0.1);
});
