// What Node does not document and responses need. What the server needs is in server/edge/undocumented.ts, and the tests are
// those of that file.

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/**
 * Waits until the response has the socket. Node gives it to the responses of a connection in their turn. Without this, each
 * request that a client sends ahead reads the first part of its file at once, and holds it until then.
 */
export async function waitForSocket(response: ServerResponse): Promise<void> {
  if (response.socket === null) await once(response, 'socket');
}
