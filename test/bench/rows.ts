// The rows of the table: who is measured under which load, and what must hold of it.
import { readFileSync } from 'node:fs';
import { type Ask, addressOf } from './load.ts';
import type { Process } from './processes.ts';

export const GROUPS = ['items', 'profile', '304', '404', 'cache'] as const;
export type Group = (typeof GROUPS)[number];

/** Each group: its title, and what its ratios relate to. */
export const ABOUT: Record<Group, { readonly title: string; readonly base: string }> = {
  items: { title: '15 items', base: 'node:http' },
  profile: { title: 'profile', base: 'node:http' },
  304: { title: '304 Not Modified', base: 'node:http' },
  404: { title: '404 unknown user', base: 'node:http' },
  cache: { title: 'responses in memory', base: 'none in memory' },
};

/** What is said about a row, before and after it is measured. */
export interface RowName {
  readonly group: Group;
  readonly name: string;
  /** The row of the group that its CPU per request is related to. */
  readonly base: string;
  /** The promised upper bound of that ratio. */
  readonly promise?: number;
  /** The promised upper bound of its p99 relative to another row. */
  readonly p99?: { readonly of: string; readonly atMost: number };
}

export interface Row extends RowName {
  readonly server: Process;
  readonly ask: Ask;
  readonly status: number;
  /** The bodies for the first users. */
  readonly expected: readonly string[];
}

const CHECKED_USERS = 3;

/** Throws unless the server responds as it must: nobody is measured with wrong responses. */
export async function check({ group, name, server, ask, status, expected }: Row): Promise<void> {
  const etags = ask.etags === undefined ? [] : readFileSync(ask.etags, 'utf8').split('\n');
  for (const [index, body] of expected.slice(0, CHECKED_USERS).entries()) {
    const got = await responseOf(server, addressOf(ask, index + 1), etags[index]);
    if (got.status !== status || got.body !== body)
      throw new Error(
        `${group}, ${name}: the response is ${got.status} ${got.body.slice(0, 200)}…, not ${status} ${body.slice(0, 200)}…`,
      );
  }
}

export async function responseOf({ port }: Process, address: string, etag?: string) {
  const response = await fetch(`http://127.0.0.1:${port}${address}`, {
    headers: etag === undefined ? {} : { 'if-none-match': etag },
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}
