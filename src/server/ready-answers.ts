// Ready answers in front of the router: a request for an address in the cache is answered without being routed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Config, sitesOf } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { expectsTheImpossible } from '../edge/http-server.ts';
import type { Limits } from '../edge/limits.ts';
import type { AnswerCache } from '../http/answer-cache.ts';
import { requestFault } from '../http/malformed.ts';
import type { WriteAnswer } from '../http/write-answer.ts';
import { addressKey, type ReadyAnswer } from '../routes/lookup.ts';

export interface ReadyAnswerOptions {
  readonly config: Config;
  readonly cache: AnswerCache<ReadyAnswer>;
  readonly writeAnswer: WriteAnswer;
  readonly limits: Limits;
  readonly draining: () => boolean;
}

/** Answers a request at once if nothing but the cached answer decides what it gets; whether it did. */
export function createReadyAnswers({ config, cache, writeAnswer, limits, draining }: ReadyAnswerOptions) {
  const hasHosts = sitesOf(config).some(({ base }) => base.host !== undefined);
  const dependsOnClient =
    limits.rateLimit !== undefined || (config.corsOrigin !== '*' && config.corsOrigin.length > 0);

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { method, url = '' } = request;
    if (dependsOnClient || draining() || limits.overloaded()) return false;
    if ((method !== 'GET' && method !== 'HEAD') || requestFault(request) !== undefined) return false;
    if (expectsTheImpossible(request)) return false;
    const answer =
      cache.find(url) ??
      (hasHosts ? cache.find(addressKey(hostKey(request.headers.host ?? ''), url)) : undefined);
    if (answer === undefined) return false;
    writeAnswer(request, response, answer.operation, answer);
    return true;
  };
}
