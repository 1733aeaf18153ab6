// Counts the connections that the server ends on its own, and logs them: one line a second for each reason.
import type { Logger } from 'pino';

export type ConnectionLog = ReturnType<typeof createConnectionLog>;

const PAUSE_MS = 1000;

export function createConnectionLog(log: Logger) {
  const counter = (what: string) => {
    let total = 0;
    let logged = 0;
    return {
      total: () => total,
      add(): void {
        if (total++ > logged) return;
        setTimeout(() => {
          log.warn({ connections: total - logged }, what);
          logged = total;
        }, PAUSE_MS).unref();
      },
    };
  };
  return {
    refused: counter(
      'connections closed, idle ones first: as many are open as MAX_CONNECTIONS, memory and the file limit allow',
    ),
    stalled: counter('connections ended: the clients did not read their responses within WRITE_TIMEOUT'),
  };
}
