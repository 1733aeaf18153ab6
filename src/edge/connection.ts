// The state of one connection, from its first byte to its last.
//
// | state     | what arrives                                | next                                                  |
// |-----------|---------------------------------------------|-------------------------------------------------------|
// | silent    | no whole request yet                        | open with the first request                           |
// | open      | requests, at most 8 ahead of their answers  | parked by the ninth; ending by a refusal or an error  |
// | parked    | is not read                                 | open when the answers that are owed are written       |
// | ending    | is dropped                                  | lingering when the answers and the refusal are written |
// | lingering | is dropped; our side has ended              | closed by the client, or after a second               |
//
// A connection that owes no answer is idle. An open one goes to lingering when an answer says `Connection: close`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import * as http from '../http/node-http.ts';

type State = 'silent' | 'open' | 'parked' | 'ending' | 'lingering';

/**
 * Node parses all that one read brings, up to 1,450 requests in 64 KB, and keeps 2 KB or more for each: 400 clients that
 * read no answer took over 1 GB.
 */
const MOST_AHEAD = 8;
const LINGER_MS = 1000;

/** What Node knows of the bytes it was given, and of those that the system has not taken yet. */
interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

const connections = new WeakMap<Socket, Connection>();

export const findConnection = (socket: Socket) => connections.get(socket) as Connection;

export class Connection {
  readonly socket: Socket;
  state: State = 'silent';
  private readonly idle: Set<Connection>;
  /** How many requests have come since no answer was owed. */
  private ahead = 0;
  private latestRequest: IncomingMessage | undefined;
  private latestResponse: ServerResponse | undefined;
  private onAnswered: (() => void) | undefined;
  private bytesTaken = -1;
  private takenSince = 0;

  /** `idle` lists the connections that owe no answer, the one idle longest first. */
  constructor(socket: Socket, idle: Set<Connection>) {
    this.socket = socket;
    this.idle = idle;
    connections.set(socket, this);
    idle.add(this);
    socket.destroySoon = () => this.linger();
  }

  get isEnding(): boolean {
    return this.state === 'ending' || this.state === 'lingering';
  }

  /** Whether the bytes that arrive are still the body of a request that has its answer, or will have it. */
  get isWithinRequest(): boolean {
    return this.latestRequest?.complete === false;
  }

  /** Notes a request; whether it must not be read now. */
  receive(request: IncomingMessage): boolean {
    if (this.isEnding) return true;
    this.state = 'open';
    this.latestRequest = request;
    this.idle.delete(this);
    this.ahead = this.latestResponse === undefined ? 1 : this.ahead + 1;
    return this.ahead > MOST_AHEAD;
  }

  /** Notes the response that the latest request will get. */
  owe(response: ServerResponse): void {
    this.latestResponse = response;
    response.once('finish', noteAnswer);
  }

  /** Lets go of what takes more memory than the connection. */
  settle(response: ServerResponse): void {
    if (response !== this.latestResponse) return;
    this.latestResponse = undefined;
    if (!this.isWithinRequest) this.latestRequest = undefined;
    if (this.state === 'open') this.idle.add(this);
    const then = this.onAnswered;
    this.onAnswered = undefined;
    then?.();
  }

  private whenAnswered(then: () => void): void {
    if (this.latestResponse === undefined) then();
    else this.onAnswered = then;
  }

  /** Drops what still arrives. `refuse` is called when the answers that are owed are written. */
  end(refuse: () => void = () => {}): void {
    if (this.isEnding) return;
    this.state = 'ending';
    this.idle.delete(this);
    this.whenAnswered(() => {
      if (this.state === 'ending') refuse();
    });
  }

  /** Takes the socket from Node, with the bytes that it has not parsed. */
  takeOver(request: IncomingMessage, rest: Buffer): void {
    const { socket } = this;
    socket.on('drain', writeOn).on('error', ignore);
    if (this.isEnding) return void socket.resume();
    this.state = 'parked';
    // At once, so that the end of the stream does not come before these bytes.
    if (rest.length > 0) socket.unshift(rest);
    socket.unshift(requestBytes(request));
    socket.pause().resume = stay;
    this.whenAnswered(() => {
      if (returning.push(this) === 1) setImmediate(returnSome);
    });
  }

  /** Gives the socket back to Node, which reads on. */
  giveBack(): void {
    const { socket } = this;
    allowResuming(socket.off('drain', writeOn));
    // The keep-alive time of the last response.
    socket.setTimeout(0);
    if (this.state === 'parked' && !socket.destroyed) {
      this.latestRequest = undefined;
      (socket as Socket & { server: NodeJS.EventEmitter }).server.emit('connection', socket);
      this.state = 'open';
      socket.off('error', ignore);
    }
    socket.resume();
  }

  /**
   * Closes in two steps (RFC 9112, 9.6): ends our side, and reads on for a while. A close over unread bytes makes TCP send
   * a reset, which can destroy the last answer before the client reads it. Node calls this after a last response.
   */
  private linger(): void {
    if (this.state === 'lingering') return;
    this.state = 'lingering';
    this.idle.delete(this);
    allowResuming(this.socket).resume().end();
    const timer = setTimeout(() => this.socket.destroy(), LINGER_MS);
    this.socket.once('close', () => clearTimeout(timer));
  }

  /**
   * Whether the system has taken none of our bytes for so long, as far as the calls tell. Node's own socket timeout is no
   * measure: whatever the client sends starts it anew.
   */
  isStalled(now: number, milliseconds: number): boolean {
    const { _handle: handle } = this.socket as { _handle?: Handle | null };
    if (this.socket.writableLength === 0 || !handle || handle.writeQueueSize === 0) return false;
    const taken = handle.bytesWritten - handle.writeQueueSize;
    if (taken === this.bytesTaken) return now - this.takenSince >= milliseconds;
    [this.bytesTaken, this.takenSince] = [taken, now];
    return false;
  }
}

/**
 * A request that knows when its headers arrived. Node's parser stops in the middle of a read in one case only: at an
 * upgrade, where it hands over the socket and the bytes that are left. So a request that must not be read now poses as one.
 */
export class TimedRequest extends http.IncomingMessage {
  override arrived = performance.now();
  private readonly isHeldBack: boolean;
  private upgrades = false;

  constructor(socket: Socket) {
    super(socket);
    this.isHeldBack = findConnection(socket).receive(this);
  }

  /** CONNECT is an upgrade to Node; it is refused like any other method. */
  get upgrade(): boolean {
    return this.isHeldBack || (this.upgrades && this.method !== 'CONNECT');
  }

  /** Node sets what the headers say, and then what `shouldUpgradeCallback` says. */
  set upgrade(upgrades: boolean) {
    this.upgrades = upgrades;
  }
}

/** The response is detached from its socket by now. */
function noteAnswer(this: ServerResponse): void {
  findConnection(this.req.socket).settle(this);
}

const returning: Connection[] = [];
/** In a turn of the event loop, so that others do not wait for them. */
const MOST_RETURNED = 4;

function returnSome(): void {
  for (const connection of returning.splice(0, MOST_RETURNED)) connection.giveBack();
  if (returning.length > 0) setImmediate(returnSome);
}

/** Node resumes a socket when an earlier response drains, but nobody would hear the bytes that are kept in it. */
function stay(this: Socket): Socket {
  return this;
}

function allowResuming(socket: Socket): Socket {
  delete (socket as Partial<Socket>).resume;
  return socket;
}

/** Tells the response that is being written to go on. Node has removed its own listener, and names the response here. */
function writeOn(this: Socket): void {
  const { _httpMessage: response } = this as { _httpMessage?: ServerResponse | null };
  if (response?.writableNeedDrain) response.emit('drain');
}

/** Node has removed its own listener. The connection is gone after an error. */
function ignore(): void {}

/** The request as it came, but for a wish to upgrade; header lines are Latin-1. */
function requestBytes({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() !== 'upgrade') lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
