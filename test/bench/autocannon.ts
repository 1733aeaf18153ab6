// What wrk.lua does, where there is no wrk: the same arguments after the port, seconds and connections, the same line of JSON.
import autocannon from 'autocannon';

const [port, seconds, connections, before, count, after, , etag] = process.argv.slice(2);
const users = Number(count);
const path = () => (users === 0 ? before : `${before}${1 + Math.floor(Math.random() * users)}${after}`);
const result = await autocannon({
  url: `http://127.0.0.1:${port}`,
  connections: Number(connections),
  duration: Number(seconds),
  headers: etag === undefined ? {} : { 'if-none-match': etag },
  requests: [{ setupRequest: (request: object) => ({ ...request, path: path() }) }],
});
const refused = result['4xx'] + result['5xx'];
console.log(
  JSON.stringify({
    requests: result.requests.total,
    seconds: result.duration,
    p50: result.latency.p50 * 1000,
    p99: result.latency.p99 * 1000,
    failed: result.errors,
    refused,
  }),
);
