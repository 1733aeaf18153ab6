// The baseline: bare node:http that sends one response to every request.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const { status, headers, body } = JSON.parse(readFileSync(process.env.ANSWER as string, 'utf8'));
const bytes = Buffer.from(body, 'base64');
const server = createServer({ keepAliveTimeout: 65_000 }, (_request, response) => {
  response.writeHead(status, headers);
  response.end(bytes.length === 0 ? undefined : bytes);
});
server.listen(Number(process.env.PORT), '127.0.0.1');
