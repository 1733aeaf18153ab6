// One request to the interface of a program that is told something.
import { createHost } from './host.ts';
import { type HttpRequest, SiteError } from './http-client.ts';

export interface Call extends Omit<HttpRequest, 'path'> {
  readonly url: string;
  /** What the operator can do if it is refused. */
  readonly remedy?: string;
}

const OPTIONS = {
  concurrency: 1,
  rate: 100,
  startRate: 100,
  timeout: 10_000,
  retries: 3,
  userAgent: 'vitrine',
};

/** Throws unless the request is accepted. Failures that may pass are repeated; redirects are not followed. */
export async function call({ url, remedy, ...request }: Call, signal: AbortSignal): Promise<void> {
  const origin = new URL(url);
  using host = createHost({ ...OPTIONS, origin, signal });
  const path = origin.pathname + origin.search;
  const { status } = await host.ask((client) => client.send({ ...request, path }));
  const advice = remedy === undefined ? '' : `: ${remedy}`;
  if (status < 200 || status > 299) throw new SiteError(`status ${status}${advice}`, 'answer');
}
