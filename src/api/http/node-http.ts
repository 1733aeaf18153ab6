// Node's HTTP by `require`: an `import` of node:http reads all its exports, and among them are getters that load Node's
// web client, which takes 45 ms of every start (npm run bench -- --only start). The cast: `require` gives any module.
import { createRequire } from 'node:module';

export const { createServer, IncomingMessage, ServerResponse, STATUS_CODES } = createRequire(import.meta.url)(
  'node:http',
) as typeof import('node:http');
