// The state of one connection, from its first byte to its last.
//
// | state     | what arrives                                | next                                                   |
// |-----------|---------------------------------------------|--------------------------------------------------------|
// | silent    | no whole request yet                        | open with the first request                            |
// | open      | requests, at most 8 ahead of their answers  | ending by the ninth, a refusal or an error             |
// | ending    | is dropped                                  | lingering when the answers and the refusal are written |
// | lingering | is dropped; our side has ended              | closed by the client, or after a second                |
//
// A connection that owes no answer is idle. An open one goes to lingering when an answer says `Connection: close`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import * as http from '../http/node-http.ts';

type State = 'silent' | 'open' | 'ending' | 'lingering';

/**
 * Node parses all that one read brings, up to 1,450 requests in 64 KB, and keeps 2 KB or more for each: 400 clients that
 * read no answer took over 1 GB. A client asks again for what was not answered (RFC 9112, 9.3.2).
 */
const MOST_OWED = 8;
const LINGER_MS = 1000;

const connections = new WeakMap<Socket, Connection>();

export const findConnection = (socket: Socket) => connections.get(socket) as Connection;

export class Connection {
  readonly socket: Socket;
  state: State = 'silent';
  private readonly idle: Set<Connection>;
  /** How many answers are not written yet. */
  private owed = 0;
  private latestRequest: IncomingMessage | undefined;
  private latestResponse: ServerResponse | undefined;
  private whenAnswered = () => {};

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

  get owesAnswers(): boolean {
    return this.owed > 0;
  }

  /** Whether the bytes that arrive are still the body of a request that has its answer, or will have it. */
  get isWithinRequest(): boolean {
    return this.latestRequest?.complete === false;
  }

  /** Notes a request; false if it is dropped, with all that follows. */
  accept(request: IncomingMessage): boolean {
    if (this.owed === MOST_OWED && !this.isEnding) {
      if (this.latestResponse !== undefined) this.latestResponse.shouldKeepAlive = false;
      this.end();
    }
    if (this.isEnding) return false;
    this.state = 'open';
    this.latestRequest = request;
    this.idle.delete(this);
    return true;
  }

  /** Notes the response that the latest request will get. */
  owe(response: ServerResponse): void {
    this.owed++;
    this.latestResponse = response;
    response.once('finish', noteAnswer);
  }

  /** Lets go of what takes more memory than the connection. */
  settle(): void {
    this.owed--;
    if (this.owed > 0) return;
    this.latestResponse = undefined;
    if (!this.isWithinRequest) this.latestRequest = undefined;
    if (this.state === 'open') this.idle.add(this);
    if (this.state === 'ending') this.whenAnswered();
  }

  /** Drops what still arrives. `last` is called when the answers that are owed are written. */
  end(last = () => this.linger()): void {
    if (this.isEnding) return;
    this.state = 'ending';
    this.idle.delete(this);
    if (this.owed > 0) this.whenAnswered = last;
    else last();
  }

  /** Takes the socket from Node, which reads nothing more from it. */
  takeOver(): void {
    this.socket.on('drain', writeOn).on('error', ignore);
    if (this.state === 'lingering') this.socket.resume();
  }

  /**
   * Closes in two steps (RFC 9112, 9.6): ends our side, and reads on for a while. A close over unread bytes makes TCP send
   * a reset, which can destroy the last answer before the client reads it. Node calls this after a last response.
   */
  private linger(): void {
    if (this.state === 'lingering') return;
    this.state = 'lingering';
    this.idle.delete(this);
    this.socket.resume().end();
    const timer = setTimeout(() => this.socket.destroy(), LINGER_MS);
    this.socket.once('close', () => clearTimeout(timer));
  }
}

/**
 * A request that knows when its headers arrived. Node's parser stops in the middle of a read in one case only: at an
 * upgrade, where it hands over the socket. So a request that is dropped poses as one, and no other does.
 */
export class TimedRequest extends http.IncomingMessage {
  override arrived = performance.now();
  /** Whether Node's parser loses what follows: after CONNECT, and after a wish to upgrade. */
  isLast = false;
  private readonly isDropped: boolean;

  constructor(socket: Socket) {
    super(socket);
    this.isDropped = !findConnection(socket).accept(this);
  }

  get upgrade(): boolean {
    return this.isDropped;
  }

  /** Node sets what the parser says. */
  set upgrade(upgrades: boolean) {
    if (upgrades) this.isLast = true;
  }
}

/** The response is detached from its socket by now. */
function noteAnswer(this: ServerResponse): void {
  findConnection(this.req.socket).settle();
}

/** Tells the response that is being written to go on. Node has removed its own listener, and names the response here. */
function writeOn(this: Socket): void {
  const { _httpMessage: response } = this as { _httpMessage?: ServerResponse | null };
  if (response?.writableNeedDrain) response.emit('drain');
}

/** Node has removed its own listener. The connection is gone after an error. */
function ignore(): void {}
