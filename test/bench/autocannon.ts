// Does what wrk.lua does where wrk is not installed: port, seconds and connections, then wrk.lua's arguments; prints the
// same line of JSON.
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import { zipf } from './zipf.ts';

const [port, seconds, connections, before, count, after, , exponent, file] = process.argv.slice(2);
const users = Number(count);
const etags = file === undefined ? [] : readFileSync(file, 'utf8').split('\n');
const pick =
  Number(exponent) === 0 ? () => 1 + Math.floor(Math.random() * users) : zipf(users, Number(exponent));

function next() {
  const user = users === 0 ? 1 : pick();
  const etag = etags[user - 1];
  return {
    path: users === 0 ? before : `${before}${user}${after}`,
    headers: etag === undefined ? {} : { 'if-none-match': etag },
  };
}

const result = await autocannon({
  url: `http://127.0.0.1:${port}`,
  connections: Number(connections),
  duration: Number(seconds),
  requests: [{ setupRequest: (request: object) => ({ ...request, ...next() }) }],
});
console.log(
  JSON.stringify({
    requests: result.requests.total,
    seconds: result.duration,
    p50: result.latency.p50 * 1000,
    p99: result.latency.p99 * 1000,
    failed: result.errors,
    refused: result['4xx'] + result['5xx'],
  }),
);
