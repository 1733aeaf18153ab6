// One observer for everything that happens while the server runs: the counters and the log subscribe.
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { createClients } from '../edge/clients.ts';
import type { Observation } from '../http/observations.ts';
import { createCounts } from './counts.ts';
import { createEventLog } from './event-log.ts';

export type Telemetry = ReturnType<typeof createTelemetry>;

export function createTelemetry(config: Config, log: Logger) {
  const clients = createClients(config);
  const counts = createCounts();
  const events = createEventLog({ config, log, clients });
  return {
    /** Who they are, and the ids of their requests, as the log names them. */
    clients,
    counts,
    observe(event: Observation): void {
      const ms = event.type === 'response' ? elapsed(event.request) : 0;
      counts.observe(event, ms);
      events.observe(event, ms);
    },
    /** Logs what was counted so far. */
    stop: events.stop,
  };
}

/** Milliseconds since a request arrived; one that did not come through our servers, such as an injected one, just did. */
function elapsed(request: IncomingMessage): number {
  const now = performance.now();
  return now - ((request as { arrived?: number }).arrived ?? now);
}
