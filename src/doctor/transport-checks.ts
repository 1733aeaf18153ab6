// How the bytes travel: whether connections are kept, to the proxy and from there to Vitrine.
import { RECEIVED_OVER } from '../http/operations.ts';
import { broken, type Check, ok, unclear } from './check.ts';

const connections: Check = {
  name: 'connections',
  async look({ ask, lookups, nobody, user }) {
    const path = lookups(user ?? nobody).profile;
    const replies = [await ask(path), await ask(path), await ask(path)];
    const closing = replies.every(({ headers }) => /\bclose\b/i.test(headers.connection ?? ''));
    return closing
      ? broken('are closed after every answer: each request waits for a new one')
      : ok('are kept open');
  },
  mend: {
    nginx: `keepalive_timeout 75s;
keepalive_requests 1000;`,
    caddy: `# take out: header Connection close`,
  },
};

const upstream: Check = {
  name: 'HTTP to Vitrine',
  async look({ ask, given }) {
    // The probe is at the root; a proxy that loses a prefix has it below.
    for (const path of new Set(['/healthz', `${given}/healthz`])) {
      const version = (await ask(path)).headers[RECEIVED_OVER];
      if (version === '1.0')
        return broken('the proxy speaks HTTP/1.0 with Vitrine: every request takes a new connection');
      if (version !== undefined) return ok(`HTTP/${version}`);
    }
    return unclear('/healthz does not reach Vitrine from here');
  },
  mend: {
    nginx: `upstream vitrine {
    server 127.0.0.1:8080 max_fails=0;
    keepalive 32;
}
# in the location
proxy_http_version 1.1;
proxy_set_header Connection "";`,
    caddy: `reverse_proxy 127.0.0.1:8080   # HTTP/1.1 with kept connections is its default`,
  },
};

export const TRANSPORT_CHECKS: readonly Check[] = [connections, upstream];
