// Copies of pictures, by their content's hash: such a file never changes.
//
// @fastify/send knows only ETags of its own making, which are weak, compares them in If-Range as no strong validator
// may be, and holds a file open for as long as its client reads; what is left of it to use is the parsing of Range.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Config } from '../config/config.ts';
import { findMediaFolder } from '../config/media.ts';
import { matches, NotModified, sendNotModified } from '../http/answer.ts';
import { errorResponses, sendFailure } from '../http/errors.ts';
import { type ByteRange, fileSize, isAbsence, parseRange, readParts } from '../http/file-parts.ts';
import { INERT } from '../http/headers.ts';
import { FAULT } from '../http/input.ts';
import { MEDIA, type Observer } from '../http/observations.ts';
import { MEDIA_NAME, mediaPath, mediaType } from '../records/media-types.ts';

const A_YEAR = 'public, max-age=31536000, immutable';

const Params = Type.Object({
  name: Type.String({
    pattern: MEDIA_NAME,
    [FAULT]: 'ROUTE_NOT_FOUND',
  }),
});
const FileBytes = Type.Unsafe<Buffer | Readable>(Type.String({ description: 'The file.' }));
const PartBytes = Type.Unsafe<Buffer | Readable>(Type.String({ description: 'The part of the file.' }));

interface MediaOptions {
  readonly config: Config;
  /** Called with errors that come when the headers have been sent. */
  readonly observe: Observer;
}

export const media: FastifyPluginCallbackTypebox<MediaOptions> = (app, options, done) => {
  const { config, observe } = options;
  const folder = findMediaFolder(config);
  if (folder === undefined) return done();
  const common = {
    ...INERT,
    'cache-control': A_YEAR,
    'accept-ranges': 'bytes',
  };
  const schema = {
    hide: true,
    params: Params,
    response: {
      200: FileBytes,
      206: PartBytes,
      304: NotModified,
      ...errorResponses('ROUTE_NOT_FOUND', 'BAD_ESCAPE', 'RANGE_NOT_SATISFIABLE'),
    },
  };

  app.get('/media/:name', { config: { operation: MEDIA }, schema }, async (request, reply) => {
    const { name } = request.params;
    const path = join(folder, mediaPath(name));
    const size = await fileSize(path);
    if (size === undefined) return sendFailure(reply, 'ROUTE_NOT_FOUND');
    const headers = { ...common, etag: `"${name.slice(0, name.indexOf('.'))}"` };
    if (matches(request.headers['if-none-match'], headers.etag)) return sendNotModified(reply, headers);
    const isHead = request.method === 'HEAD';
    const range = isHead ? undefined : parseRange(request.headers, headers.etag, size);
    if (range === 'unsatisfiable') {
      reply.header('content-range', `bytes */${size}`);
      return sendFailure(reply, 'RANGE_NOT_SATISFIABLE');
    }
    const { start, end } = range ?? { start: 0, end: size - 1 };
    const length = end - start + 1;
    const body = isHead ? Readable.from([]) : await openBody(path, { start, end }, reply.raw);
    if (body === undefined) return sendFailure(reply, 'ROUTE_NOT_FOUND');
    if (body instanceof Readable)
      body.on('error', (error) => observe({ type: 'request-failed', request: request.raw, error }));
    reply.headers({ ...headers, 'content-type': mediaType(name), 'content-length': length });
    if (range === undefined) return reply.send(body);
    return reply.code(206).header('content-range', `bytes ${start}-${end}/${size}`).send(body);
  });
  done();
};

/** A Buffer if the bytes are one part, otherwise a stream; undefined if the file is gone. */
async function openBody(path: string, range: ByteRange, response: ServerResponse) {
  // A pipelined request reads nothing before its turn.
  if (response.socket === null) await once(response, 'socket');
  const parts = readParts(path, range);
  try {
    const { value: first = Buffer.alloc(0), done } = await parts.next();
    if (done || first.length > range.end - range.start) return first;
    return Readable.from(inTurn(first, parts, response), { objectMode: false, highWaterMark: 0 });
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Each part overwrites the one before, which must have left. */
async function* inTurn(first: Buffer, rest: AsyncGenerator<Buffer>, response: ServerResponse) {
  for (let part: Buffer | undefined = first; part !== undefined; part = (await rest.next()).value) {
    yield part;
    if (response.destroyed) return;
    // An empty write is called back after all that were before it.
    await new Promise<unknown>((resolve) => response.write('', resolve));
  }
}
