// Ends connections whose client does not read: answers that nobody takes would occupy memory, and a connection, for ever.
// Node's own socket timeout is no measure: whatever the client sends starts it anew.
import type { Socket } from 'node:net';

/** What Node knows of the bytes it was given, and of those that the system has not taken yet. */
interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

interface Progress {
  readonly taken: number;
  readonly since: number;
}

const POLL_MS = 1000;

/** Looks at the open connections until it is stopped; 0 ends none. */
export function watchWriting(open: ReadonlySet<Socket>, writeTimeout: number, onStalled: () => void) {
  const progress = new WeakMap<Socket, Progress>();

  function isStalled(socket: Socket, now: number): boolean {
    const handle = (socket as { _handle?: Handle | null })._handle;
    if (!handle || handle.writeQueueSize === 0) return false;
    const taken = handle.bytesWritten - handle.writeQueueSize;
    const before = progress.get(socket);
    if (before?.taken === taken) return now - before.since >= writeTimeout;
    progress.set(socket, { taken, since: now });
    return false;
  }

  function look(): void {
    const now = performance.now();
    for (const socket of open) {
      if (socket.writableLength === 0 || !isStalled(socket, now)) continue;
      onStalled();
      // With a reset, so that the system drops what is left as well.
      socket.resetAndDestroy();
    }
  }

  const timer = writeTimeout > 0 ? setInterval(look, Math.min(POLL_MS, writeTimeout / 4)) : undefined;
  timer?.unref();
  return { stop: () => clearInterval(timer) };
}
