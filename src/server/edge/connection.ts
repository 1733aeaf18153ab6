// One connection of a client. Three things hold without a proxy: memory is bounded, other clients are served, and a
// response is never lost to a close. So a connection that sends more than 4 requests ahead of their responses gets 4
// responses and is closed, or one while the server is busy. Each close waits a moment for what the client still sends.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { readUnparsed, replaceClose, StoppingRequest } from './undocumented.ts';

/** Node keeps 2 KB or more for each request, and one read brings up to 1,450. */
const MOST_AHEAD = 4;
/**
 * Requests of all connections: while more wait, each connection has one. When 2,000 clients sent four each in one moment, 128
 * MB did not suffice. Browsers, curl and proxies do not send ahead.
 */
const MOST_WAITING_REQUESTS = 250;
const LINGER_MS = 1000;
/**
 * Of what is read and dropped while a connection lingers: it comes as fast as a client can send it, in a Buffer for each read.
 * The second number is of all connections that linger: 200 on a unix socket killed the server.
 */
const MOST_DROPPED = 256 * 1024;
const MOST_DROPPED_OF_ALL = 8 * 1024 * 1024;

/** What the connections of a server share. */
export interface SharedState {
  /** Those that owe no response, the one idle longest first. */
  readonly idle: Set<ClientConnection>;
  /** Requests that wait for their responses. */
  waiting: number;
  /** Bytes that were read from connections that linger. */
  dropped: number;
}

const connections = new WeakMap<Socket, ClientConnection>();

/** Each socket of the server has one: see keepConnections. */
export const findConnection = (socket: Socket) => connections.get(socket) as ClientConnection;

/**
 * Its states, and what leads from one to the next:
 *
 *   IDLE  a request comes -> OPEN  the last response is written -> IDLE
 *   OPEN  too many requests, or a bad one, or the server stops -> ENDING   (`isEnding`: no more requests are read)
 *   ENDING  the last response is written -> LINGERING                      (`isLingering`: what still comes is dropped)
 *   IDLE  it is ended -> LINGERING
 *   LINGERING  the client ends its side, or a second is over -> closed
 *
 * IDLE owes no response and stands in `shared.idle`, OPEN owes those in `owed`. Where Node closes by itself, it lingers, too.
 */
export class ClientConnection {
  readonly socket: Socket;
  /** Whether a request has come. */
  hasAsked = false;
  /** Whether what still arrives is dropped. */
  isEnding = false;
  isLingering = false;
  /** The responses that are not written yet, in the order of their requests. */
  readonly owed: ServerResponse[] = [];
  private readonly shared: SharedState;
  /** How many bytes had been read when the last response was written. */
  private readBefore = 0;
  private latestRequest: IncomingMessage | undefined;
  private refuse: (() => void) | undefined;

  constructor(socket: Socket, shared: SharedState) {
    this.socket = socket;
    this.shared = shared;
    connections.set(socket, this);
    shared.idle.add(this);
    replaceClose(socket, () => this.linger());
  }

  /** Whether arriving bytes still belong to the body of the latest request, which needs no further response. */
  get isWithinRequest(): boolean {
    return this.latestRequest?.complete === false;
  }

  /** Whether the next request would come too early. */
  get isFull(): boolean {
    const { length } = this.owed;
    return length >= MOST_AHEAD || (length > 0 && this.shared.waiting >= MOST_WAITING_REQUESTS);
  }

  /** Whether nothing has come since the last response was written. */
  get isResting(): boolean {
    return !this.isEnding && this.socket.bytesRead === this.readBefore;
  }

  noteRequest(request: IncomingMessage, response: ServerResponse): void {
    this.hasAsked = true;
    this.latestRequest = request;
    this.shared.idle.delete(this);
    this.owed.push(response);
    this.shared.waiting++;
    response.once('finish', noteFinished);
  }

  /** The body of a request came to its end, perhaps after the response. */
  noteComplete(): void {
    if (this.owed.length === 0) this.readBefore = this.socket.bytesRead;
  }

  /** Node writes responses in the order of their requests. */
  noteFinished(): void {
    if (this.owed.shift() === undefined) return;
    this.shared.waiting--;
    if (this.owed.length > 0) return;
    this.readBefore = this.socket.bytesRead;
    if (this.latestRequest?.complete) this.latestRequest = undefined;
    if (this.isEnding) this.refuseAndLinger();
    else this.shared.idle.add(this);
  }

  /** Ends, since a request came too early: Node reads nothing any more. */
  endEarly(): void {
    if (this.isLingering) this.socket.resume();
    else this.end();
  }

  /** Node writes nothing any more, and no longer knows the responses of a connection that ended early. */
  noteClosed(): void {
    this.shared.idle.delete(this);
    this.shared.waiting -= this.owed.length;
    for (const response of this.owed.splice(0)) response.destroy();
  }

  /** Reads no more requests, and closes when all responses are written. `refuse` is called before the close. */
  end(refuse?: () => void): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.refuse = refuse;
    if (this.owed.length === 0) this.refuseAndLinger();
    // Bytes that arrive would restart the time-out of a client that takes no response.
    else this.socket.on('resume', pauseAgain).pause();
  }

  private refuseAndLinger(): void {
    // A connection that lingers already has had its last response.
    if (!this.isLingering) this.refuse?.();
    this.linger();
  }

  /**
   * Closes in two steps (RFC 9112, 9.6): ends our side, and reads on until the client ends its own, for a second at most. A
   * close over unread bytes makes TCP send a reset, which can destroy the last response before the client reads it.
   */
  private linger(): void {
    if (this.isLingering) return;
    this.isEnding = this.isLingering = true;
    this.shared.idle.delete(this);
    this.socket.off('resume', pauseAgain).end();
    const { shared } = this;
    let dropped = 0;
    readUnparsed(this.socket, ({ length }) => {
      dropped += length;
      shared.dropped += length;
      if (dropped > MOST_DROPPED || shared.dropped > MOST_DROPPED_OF_ALL) this.socket.pause();
    });
    const timer = setTimeout(() => this.socket.destroy(), LINGER_MS);
    this.socket.once('close', () => {
      clearTimeout(timer);
      shared.dropped -= dropped;
    });
  }
}

/** A request that knows when its headers arrived, and whether it comes too early. */
export class ClientRequest extends StoppingRequest {
  override arrived = performance.now();
  protected readonly isTooEarly: boolean;

  constructor(socket: Socket) {
    super(socket);
    const { isEnding, isFull } = findConnection(socket);
    this.isTooEarly = isEnding || isFull;
  }

  /** A body is either small, or ends its connection. */
  protected get isDropped(): boolean {
    return !findConnection(this.socket).isEnding;
  }

  protected override noteComplete(): void {
    findConnection(this.socket).noteComplete();
  }
}

function noteFinished(this: ServerResponse): void {
  findConnection(this.req.socket).noteFinished();
}

/** Node resumes a socket when a response drains. */
function pauseAgain(this: Socket): void {
  this.pause();
}
