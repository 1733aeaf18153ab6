// Sends one notification to a program of others.
import { createHost } from './host.ts';
import { type HttpRequest, SiteError } from './http-client.ts';

interface Call extends Omit<HttpRequest, 'path'> {
  readonly url: string;
  /** What the operator can do if it is refused. */
  readonly remedy?: string;
}

interface CallOptions {
  readonly signal: AbortSignal;
  /** Whether the last notification was accepted. Otherwise this one is sent once. */
  readonly wasReached: boolean;
  /** Milliseconds, for all attempts together. */
  readonly limit?: number;
}

const LIMIT = 15_000;
const RETRIES = 2;
const PACE = { concurrency: 1, rate: 100, startRate: 100, timeout: 5000, userAgent: 'vitrine' };

/** Throws unless the request is accepted. Failures that may pass are repeated; redirects are not followed. */
export async function call(
  { url, remedy, ...request }: Call,
  { signal, wasReached, limit = LIMIT }: CallOptions,
): Promise<void> {
  const origin = new URL(url);
  const path = origin.pathname + origin.search;
  const timeLimit = AbortSignal.timeout(limit);
  const ends = AbortSignal.any([signal, timeLimit]);
  using host = createHost({ ...PACE, retries: wasReached ? RETRIES : 0, origin, signal: ends });
  const { status } = await host
    .ask((client) => client.send({ ...request, path }))
    .catch((error) => {
      throw timeLimit.aborted ? new SiteError(`no answer within ${limit / 1000} s`, 'site') : error;
    });
  const advice = remedy === undefined ? '' : `: ${remedy}`;
  if (status < 200 || status > 299) throw new SiteError(`status ${status}${advice}`, 'answer');
}
