// The limit for the requests of a client. How it answers is in limits.slow.test.ts.
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { createClients } from '../../../src/server/edge/clients.ts';
import { createRateLimit } from '../../../src/server/edge/hooks.ts';

/** Whether the next request from an address is refused; undefined if the address has no limit. */
function limited(rateLimitExempt = '') {
  const config = readConfig({ rateLimit: '2/1h', rateLimitExempt });
  const allow = createRateLimit(config, createClients(config), () => {});
  // No more is read of a request: to make 100,000 whole ones takes a second.
  return (remoteAddress: string) =>
    allow?.({ socket: { remoteAddress }, headers: {} } as IncomingMessage)?.refused;
}

test('each network of RATE_LIMIT_EXEMPT has no limit', () => {
  const isRefused = limited('192.0.2.0/24, 198.51.100.0/24, 2001:db8::/32');
  for (let nr = 0; nr < 5; nr++)
    for (const address of ['192.0.2.1', '198.51.100.1', '2001:db8::1'])
      expect(isRefused(address), address).toBeUndefined();
  expect([1, 2, 3].map(() => isRefused('203.0.113.1'))).toEqual([false, false, true]);
});

test('of 100,001 clients the newest has its limit, and only the oldest is forgotten', () => {
  const isRefused = limited();
  const address = (nr: number) => `10.${nr >> 16}.${(nr >> 8) & 255}.${nr & 255}`;
  for (let nr = 0; nr <= 100_000; nr++) isRefused(address(nr));
  const last = address(100_000);
  expect([isRefused(last), isRefused(last)]).toEqual([false, true]);
  expect([isRefused(address(1)), isRefused(address(1))]).toEqual([false, true]);
  expect([isRefused(address(0)), isRefused(address(0))]).toEqual([false, false]);
});
