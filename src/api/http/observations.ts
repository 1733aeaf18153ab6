// What the log and the metrics observe: `observe` is called with one of these events.

import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { StoreEvent } from '../../stores/reader.ts';
import type { Variant } from '../../variants.ts';

/** What a request asks for, as metrics and log name it: few names, whatever clients send. */
export interface Operation {
  readonly variant: Variant | 'none';
  readonly name: 'profile' | 'items' | 'media' | 'probe' | 'page' | 'preflight' | 'other';
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What requests of the route are counted as; it may depend on the query. */
    operation?: Operation | ((query: unknown) => Operation);
  }
}

declare module 'node:http' {
  interface IncomingMessage {
    /** When its headers arrived, by performance.now(); an injected request has not come through a server. */
    arrived?: number;
    /** Its name in the log; Fastify's `request.id` is the same. */
    requestId?: string;
    /** The address as it was sent. Fastify keeps it here where it routes another one. */
    originalUrl?: string;
  }
}

export const MEDIA: Operation = { variant: 'none', name: 'media' };
export const PROBE: Operation = { variant: 'none', name: 'probe' };
export const PAGE: Operation = { variant: 'none', name: 'page' };
export const PREFLIGHT: Operation = { variant: 'none', name: 'preflight' };
export const OTHER: Operation = { variant: 'none', name: 'other' };

export function findOperation({ query, routeOptions }: FastifyRequest): Operation {
  const { operation = OTHER } = routeOptions.config;
  return typeof operation === 'function' ? operation(query) : operation;
}

/** A response that was handed to Node. */
export interface ResponseEvent {
  readonly type: 'response';
  readonly request: IncomingMessage;
  readonly operation: Operation;
  readonly status: number;
  readonly bytes: number;
}

export type Observation =
  | ResponseEvent
  /** A request that failed by a fault of ours, or of the data. */
  | { readonly type: 'request-failed'; readonly request: IncomingMessage; readonly error: unknown }
  | { readonly type: 'request-refused'; readonly reason: 'rate' }
  /** One that had waited this long. */
  | { readonly type: 'request-refused'; readonly reason: 'overload'; readonly ms: number }
  /** A connection that was closed since too many are open, or since its client does not read. */
  | { readonly type: 'connection-refused' | 'connection-stalled' }
  /** A connection that began with the PROXY protocol. */
  | { readonly type: 'proxy-protocol' }
  | StoreEvent;

export type Observer = (event: Observation) => void;
