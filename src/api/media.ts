// Copies of pictures, by their content's hash: such a file never changes. And pictures beside the files of `serve FILE`.
//
// Not by @fastify/static: it holds a file open, and 64 KB of it, for as long as the client reads. 800 clients that read nothing
// took 630 descriptors and 100 MB of buffers, where 12 and 23 MB are enough. Its ETags are weak, which If-Range does not allow.

import type { Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import { findMediaFolder } from '../config/media.ts';
import type { Config } from '../config/settings.ts';
import { COPY_FILE_NAME, copyType, pictureType } from '../records/copy-files.ts';
import { createMediaFolder } from '../stores/media-folder.ts';
import { matches } from './http/conditions.ts';
import { errorResponses, sendFailure } from './http/errors.ts';
import { type ByteRange, findFile, isMissing, parseRange, readParts } from './http/file-parts.ts';
import { NotModified, sendNotModified } from './http/fresh.ts';
import { COPY_HEADERS, type Headers, INERT } from './http/headers.ts';
import { FAULT } from './http/input.ts';
import { MEDIA, type Observer } from './http/observations.ts';
import { waitForSocket } from './http/undocumented.ts';

const Params = Type.Object({
  name: Type.String({
    pattern: COPY_FILE_NAME,
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

const response = {
  200: FileBytes,
  206: PartBytes,
  304: NotModified,
  ...errorResponses('ROUTE_NOT_FOUND', 'BAD_ESCAPE', 'RANGE_NOT_SATISFIABLE'),
};

export const media: FastifyPluginCallbackTypebox<MediaOptions> = (app, { config, observe }, done) => {
  const path = findMediaFolder(config);
  if (path === undefined) return done();
  const folder = createMediaFolder(path);
  const schema = { hide: true, params: Params, response };
  app.get('/media/:name', { config: { operation: MEDIA }, schema }, async (request, reply) => {
    const { name } = request.params;
    const etag = `"${name.slice(0, name.indexOf('.'))}"`;
    const headers = { ...COPY_HEADERS, 'content-type': copyType(name) };
    return sendFile(reply, { path: folder.findPlace(name), headers, etag: () => etag, observe });
  });
  done();
};

/** Pictures in the folder of served files. Pages of other sites may show them; CORS_ORIGIN=* does not let scripts read them. */
export const servedFiles: FastifyPluginCallbackTypebox<MediaOptions> = (app, { config, observe }, done) => {
  const { filesFolder } = config;
  if (filesFolder === undefined) return done();
  const schema = { hide: true, params: Type.Object({ '*': Type.String() }), response };
  app.get('/files/*', { config: { operation: MEDIA }, schema }, async (request, reply) => {
    const name = request.params['*'];
    const type = pictureType(name);
    const path = await findPicture(filesFolder, name);
    if (type === undefined || path === undefined) return sendFailure(reply, 'ROUTE_NOT_FOUND');
    const headers = {
      'cache-control': 'no-cache',
      'content-type': type,
      'cross-origin-resource-policy': 'cross-origin',
    };
    const etag = ({ ino, size, mtimeMs }: Stats) => `"${ino}-${size}-${mtimeMs}"`;
    return sendFile(reply, { path, headers, etag, observe });
  });
  done();
};

/** The path of a picture; undefined for other files, hidden ones, and what is not in the folder, or a link that leads out of it. */
async function findPicture(folder: string, name: string): Promise<string | undefined> {
  const isShown = (path: string) => pictureType(path) !== undefined && !/(?:^|\/)\./.test(path);
  if (!isShown(name)) return undefined;
  try {
    const [root, path] = await Promise.all([realpath(folder), realpath(join(folder, name))]);
    return isShown(relative(root, path)) ? path : undefined;
  } catch {
    return undefined;
  }
}

interface FileToSend {
  readonly path: string;
  readonly headers: Headers;
  readonly etag: (stats: Stats) => string;
  readonly observe: Observer;
}

async function sendFile(reply: FastifyReply, file: FileToSend): Promise<FastifyReply> {
  const { request } = reply;
  const stats = await findFile(file.path);
  if (stats === undefined) return sendFailure(reply, 'ROUTE_NOT_FOUND');
  const { size } = stats;
  const headers = { ...INERT, 'accept-ranges': 'bytes', ...file.headers, etag: file.etag(stats) };
  if (matches(request.headers['if-none-match'], headers.etag)) return sendNotModified(reply, headers);
  const isHead = request.method === 'HEAD';
  const range = isHead ? undefined : parseRange(request.headers, headers.etag, size);
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`);
    return sendFailure(reply, 'RANGE_NOT_SATISFIABLE');
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  const body = isHead ? Readable.from([]) : await openBody(file.path, { start, end }, reply.raw);
  if (body === undefined) return sendFailure(reply, 'ROUTE_NOT_FOUND');
  if (body instanceof Readable)
    body.on('error', (error) => file.observe({ type: 'request-failed', request: request.raw, error }));
  reply.headers({ ...headers, 'content-length': end - start + 1 });
  if (range === undefined) return reply.send(body);
  return reply.code(206).header('content-range', `bytes ${start}-${end}/${size}`).send(body);
}

/** A Buffer if the bytes are one part, otherwise a stream; undefined if the file is gone. */
async function openBody(path: string, range: ByteRange, response: ServerResponse) {
  // A pipelined request reads nothing before its turn.
  await waitForSocket(response);
  // The client is gone.
  if (response.destroyed) return Buffer.alloc(0);
  const parts = readParts(path, range);
  try {
    const { value: first = Buffer.alloc(0), done } = await parts.next();
    if (done || first.length > range.end - range.start) return first;
    return Readable.from(joinParts(first, parts, response), { objectMode: false, highWaterMark: 0 });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Each part overwrites the one before, which must have left. */
async function* joinParts(first: Buffer, rest: AsyncGenerator<Buffer>, response: ServerResponse) {
  for (let part: Buffer | undefined = first; part !== undefined; part = (await rest.next()).value) {
    yield part;
    if (response.destroyed) return;
    // An empty write is called back after all that were before it.
    await new Promise<unknown>((resolve) => response.write('', resolve));
  }
}
