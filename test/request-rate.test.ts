// The rate of a mirror: it starts low, follows the site, and never exceeds its bound.
import { describe, expect, test } from 'vitest';
import { createRequestRate } from '../src/remote/request-pace.ts';

function respond(rate: ReturnType<typeof createRequestRate>, milliseconds: number, times: number): number {
  for (let time = 0; time < times; time++) rate.responded(milliseconds);
  return rate.current();
}

describe('the request rate', () => {
  test('starts at 10 a second and rises to its bound while responses take as long as before', () => {
    const rate = createRequestRate(100);
    expect(rate.current()).toBe(10);
    expect(respond(rate, 50, 10)).toBeLessThan(30);
    expect(respond(rate, 50, 100)).toBe(100);
  });

  test('starts at a bound that is lower, and stays there', () => {
    const rate = createRequestRate(2);
    expect(rate.current()).toBe(2);
    expect(respond(rate, 50, 100)).toBe(2);
  });

  test('falls when responses get slower, but not below its start', () => {
    const rate = createRequestRate(100);
    respond(rate, 50, 100);
    expect(respond(rate, 500, 10)).toBeLessThan(90);
    expect(respond(rate, 500, 100)).toBe(10);
  });

  test('rises again when the longer time turns out to be the usual one', () => {
    const rate = createRequestRate(100);
    respond(rate, 50, 100);
    expect(respond(rate, 200, 2000)).toBe(100);
  });

  test('halves with each sign of overload, and then rises more slowly', () => {
    const rate = createRequestRate(100);
    respond(rate, 50, 100);
    rate.overloaded();
    expect(rate.current()).toBe(50);
    rate.overloaded();
    expect(rate.current()).toBe(25);
    expect(respond(rate, 50, 20)).toBeLessThan(40);
    expect(respond(rate, 50, 200)).toBe(100);
    for (let time = 0; time < 50; time++) rate.overloaded();
    expect(rate.current()).toBe(0.5);
  });

  test('has no floor above its bound', () => {
    const rate = createRequestRate(0.1);
    rate.overloaded();
    expect(rate.current()).toBe(0.1);
  });
});
