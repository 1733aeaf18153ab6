// Who has to wait: clients that ask too often, and everybody while the event loop lags.
import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { Config } from '../config/config.ts';
import { type Clients, clientKey } from './client.ts';

/** What a client may still do, for the `RateLimit` headers. */
export interface Allowance {
  readonly refused: boolean;
  readonly headers: readonly string[];
}

/** More clients than this are not kept in mind at a time; the oldest are forgotten first. */
const MOST_CLIENTS = 100_000;

export function createRateLimit(
  { rateLimit, rateLimitExempt }: Pick<Config, 'rateLimit' | 'rateLimitExempt'>,
  clients: Clients,
  now = () => performance.now(),
) {
  if (rateLimit === undefined) return undefined;
  const { requests, window } = rateLimit;
  const exempt = proxyAddr.compile(rateLimitExempt);
  const policy = ['ratelimit-policy', `"default";q=${requests};w=${Math.ceil(window / 1000)}`];
  const used = new Map<string, { count: number; ends: number }>();

  /** Counts a request; undefined for a client without a limit. */
  return (request: IncomingMessage): Allowance | undefined => {
    const address = clients.addressOf(request);
    if (exempt(address, 0)) return undefined;
    const key = clientKey(address);
    const time = now();
    let use = used.get(key);
    if (use === undefined || use.ends <= time) {
      use = { count: 0, ends: time + window };
      // Deleted first, so that the map's order is the order in which windows end.
      used.delete(key);
      used.set(key, use);
      if (used.size > MOST_CLIENTS) used.delete(used.keys().next().value as string);
    }
    use.count++;
    const left = Math.max(requests - use.count, 0);
    const seconds = Math.ceil((use.ends - time) / 1000);
    const refused = use.count > requests;
    return {
      refused,
      headers: [
        ...policy,
        'ratelimit',
        `"default";r=${left};t=${seconds}`,
        ...(refused ? ['retry-after', String(seconds)] : []),
      ],
    };
  };
}

export type RateLimit = NonNullable<ReturnType<typeof createRateLimit>>;

const GLANCE_MS = 50;

/** Watches how late the event loop is with what it was to do; `stop` ends the watch. */
export function createLagWatch({ maxLoopDelay }: Pick<Config, 'maxLoopDelay'>) {
  let lag = 0;
  let lagBefore = 0;
  // The first glance comes when the start is done, however long that kept the loop: nobody was waiting then.
  let due = Number.POSITIVE_INFINITY;
  const timer = setInterval(() => {
    const time = performance.now();
    lagBefore = lag;
    lag = time - due;
    due = time + GLANCE_MS;
  }, GLANCE_MS);
  timer.unref();
  return {
    // One late glance may be the machine's doing; two in a row are a queue.
    overloaded: () => maxLoopDelay > 0 && lag > maxLoopDelay && lagBefore > maxLoopDelay,
    stop: () => clearInterval(timer),
  };
}
