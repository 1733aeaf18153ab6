// `vitrine print caddy`
import { lines, type PrintInput, proxyKeepAlive } from './input.ts';
import { COMPRESSIBLE, unavailableBody, unavailableHeaders } from './proxies.ts';

export function caddy(input: PrintInput): string {
  const { socket, host, port, checkPort } = input;
  const upstream = socket === undefined ? `${host}:${port}` : `unix/${socket}`;
  const healthPort = checkPort === undefined ? [] : [`health_port ${checkPort}`];
  const headers = unavailableHeaders(input).map(([name, value]) => `header ${name} ${value}`);
  return `# Caddy for Vitrine: TLS with certificates that renew themselves, and compression. Save it as /etc/caddy/Caddyfile, and
# start Vitrine with TRUST_PROXY=loopback, or with the address from which Caddy connects. Caddy has no cache of its own,
# and does not limit the connections of one client: a firewall can, with nftables' \`ct count\`.

${listSites(input).join(', ')} {
	# Vitrine compresses its answers; Caddy does the rest: pages of people, cards, feeds.
	encode {
		zstd
		gzip
		match {
${lines(
  ['text/html', ...COMPRESSIBLE].map((type) => `header Content-Type ${type}*`),
  '\t\t\t',
)}		}
	}

	# Caddy sends Host and the X-Forwarded-* headers by itself.
	reverse_proxy ${upstream} {
		header_up X-Request-Id {http.request.uuid}
		health_uri /readyz
${lines(healthPort, '\t\t')}		health_interval 1s
		# Requests wait for a server that restarts.
		lb_try_duration 5s
		transport http {
			keepalive ${proxyKeepAlive(input)}s # less than KEEP_ALIVE_TIMEOUT
		}
	}

	# No server answers: an error in Vitrine's format that pages of other origins can read.
	handle_errors {
		header Content-Type "application/json; charset=utf-8"
${lines(headers, '\t\t')}		respond \`${unavailableBody(503)}\` 503
	}
}
`;
}

/** Where Caddy listens: with TLS, unless a base URL names another port for plain HTTP. */
function listSites({ origins, names }: PrintInput): readonly string[] {
  if (origins.length === 0) return names;
  const sites = origins.map(({ protocol, port, host, origin }) =>
    protocol === 'http:' && port !== '' ? origin : host,
  );
  return [...new Set(sites)];
}
