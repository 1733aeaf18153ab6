// What both styles of route share: the user name as input, read-only routes, and finding and sending what was asked.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BaseUrl } from '../config/setting-values.ts';
import type { Answer, Answers } from '../http/answer-cache.ts';
import type { ErrorCode } from '../http/errors.ts';
import type { Responder } from '../http/respond.ts';
import { turn } from '../http/turn.ts';
import type { Family } from '../records/kinds.ts';
import { LONGEST_USER_NAME, userKey, userNameFault } from '../records/user-name.ts';
import type { Awaitable, Reader } from '../stores/store.ts';
import type { Operation } from '../telemetry/operations.ts';

/** What is wrong with a user name as it was asked for: absent, repeated, with a broken escape (null), or no name. */
export function userFault(name: string | string[] | null | undefined): ErrorCode | undefined {
  if (name === undefined || name === '') return 'USER_MISSING';
  if (name === null) return 'BAD_ESCAPE';
  if (typeof name !== 'string') return 'USER_REPEATED';
  if (userNameFault(name) === undefined) return undefined;
  return [...name].length > LONGEST_USER_NAME ? 'USER_TOO_LONG' : 'USER_MALFORMED';
}

export interface VariantOptions {
  readonly variant: 'a' | 'b' | 'c';
  readonly base: BaseUrl;
  readonly family: Family;
  /** The member of the item list's body. */
  readonly collection: string;
  readonly reader: Reader;
  readonly answers: Answers<Operation>;
  readonly respond: Responder;
}

/** What a variant can do, as both styles of route call it. */
export function createReading({
  variant,
  base,
  family,
  collection,
  reader,
  answers,
  respond,
}: VariantOptions) {
  const profile: Operation = { variant, name: 'profile' };
  const items: Operation = { variant, name: 'items' };
  const site = base.host ?? '';

  function send(
    { raw: request }: FastifyRequest,
    reply: FastifyReply,
    operation: Operation,
    find: () => Awaitable<Answer | undefined>,
  ): void {
    reply.hijack();
    const fault = (error: unknown) => respond.fault(request, reply.raw, operation, error);
    const settle = (found: Answer | undefined) =>
      found === undefined
        ? respond.failure(request, reply.raw, operation, 'USER_NOT_FOUND')
        : respond.answer(request, reply.raw, operation, found);
    turn.lookUp(() => {
      try {
        const answer = find();
        if (answer instanceof Promise) answer.then(settle).catch(fault);
        else settle(answer);
      } catch (error) {
        fault(error);
      }
    });
  }

  return {
    operations: { profile, items },

    refuse(request: FastifyRequest, reply: FastifyReply, operation: Operation, code: ErrorCode): void {
      reply.hijack();
      respond.failure(request.raw, reply.raw, operation, code);
    },

    /** `address` is where a front-end would ask for it: what is kept there is found before any routing. */
    sendProfile(
      request: FastifyRequest,
      reply: FastifyReply,
      name: string,
      address: (key: string) => string,
    ): void {
      const key = userKey(name);
      const read = () => reader.profile(family, key);
      send(request, reply, profile, () => answers.answer(site + address(key), profile, read));
    },

    sendItems(
      request: FastifyRequest,
      reply: FastifyReply,
      name: string,
      address: (key: string) => string,
    ): void {
      const key = userKey(name);
      const read = () => reader.items(family, key, collection);
      send(request, reply, items, () => answers.answer(site + address(key), items, read));
    },
  };
}
