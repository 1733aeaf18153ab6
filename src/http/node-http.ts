// Node's HTTP as `require` has it: an `import` of it would load, at every start, the web client that comes with Node.
import { createRequire } from 'node:module';

export const { Agent, createServer, IncomingMessage, request, STATUS_CODES } = createRequire(import.meta.url)(
  'node:http',
) as typeof import('node:http');
