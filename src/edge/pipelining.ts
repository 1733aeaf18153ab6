// Bounds how many requests of a connection are taken up before their answers are written. Node parses all that one read
// brings, up to 1,450 requests in 64 KB, and keeps 2 KB or more for each: 400 clients that read no answer took over 1 GB.
// Its parser stops in the middle of a read in one case only: at an upgrade, where it hands over the connection and the
// bytes that are left. So the first request too many poses as an upgrade, and when the answers before it are written,
// the connection goes back to the server with the bytes of that request and the rest.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import * as http from '../http/node-http.ts';
import { forgetAnswered, noteRequest, whenAnswered } from './connection.ts';
import { isLingering } from './lingering-close.ts';

const MOST_AHEAD = 8;
/** How many connections are given back in a turn of the event loop, so that others do not wait for them. */
const RETURNED_PER_TURN = 4;

/** A request that knows when its headers arrived, and whether it has to wait. */
export class TimedRequest extends http.IncomingMessage {
  readonly arrived = performance.now();
  private readonly waits: boolean;
  private upgrades = false;

  constructor(socket: Socket) {
    super(socket);
    this.waits = noteRequest(socket, this) > MOST_AHEAD;
  }

  get upgrade(): boolean {
    return this.upgrades || this.waits;
  }

  /** Node sets what the headers say, and then what `shouldUpgradeCallback` says. */
  set upgrade(upgrades: boolean) {
    this.upgrades = upgrades;
  }
}

/**
 * Hands over the connection of a request that has to wait, and of one that asks for an upgrade: Node would read nothing
 * after that, although RFC 9110 (7.8) lets servers ignore it.
 */
export function stopReading({ socket }: IncomingMessage): boolean {
  socket.pause();
  return true;
}

const waiting = new WeakSet<Socket>();

/** Whether the connection is one that is being given back, not a new one. */
export const isReturning = (socket: Socket): boolean => waiting.has(socket);

/** Takes connections that Node hands over, and gives them back when their answers are written. */
export function createWaitingRoom(server: Server) {
  const answered: Socket[] = [];

  function giveSomeBack(): void {
    for (const socket of answered.splice(0, RETURNED_PER_TURN)) giveBack(socket);
    if (answered.length > 0) setImmediate(giveSomeBack);
  }

  function giveBack(socket: Socket): void {
    socket.off('resume', stay).off('drain', writeOn);
    // The keep-alive time of the last response.
    socket.setTimeout(0);
    if (!isLingering(socket) && !socket.destroyed) {
      server.emit('connection', socket);
      socket.off('error', ignore);
    }
    waiting.delete(socket);
    socket.resume();
  }

  return (request: IncomingMessage, socket: Socket, rest: Buffer): void => {
    waiting.add(socket);
    // At once, so that the end of the stream does not come before these bytes.
    if (rest.length > 0) socket.unshift(rest);
    socket.unshift(bytesOf(request));
    socket.on('resume', stay).on('drain', writeOn).on('error', ignore);
    whenAnswered(socket, () => {
      forgetAnswered(socket);
      if (answered.push(socket) === 1) setImmediate(giveSomeBack);
    });
  };
}

/** An earlier response that is written may resume its connection. */
function stay(this: Socket): void {
  this.pause();
}

/** Tells the response that is being written to go on. Node has removed its own listener, and names the response here. */
function writeOn(this: Socket): void {
  const { _httpMessage: response } = this as { _httpMessage?: ServerResponse | null };
  if (response?.writableNeedDrain) response.emit('drain');
}

/** Node has removed its own listener. The connection is gone after an error. */
function ignore(): void {}

/** The request as it came, but for a wish to upgrade; header lines are Latin-1. */
function bytesOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() !== 'upgrade') lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
