// Subscribers that are told by HTTP: programs of others (NOTIFY), and the hub of the feeds (WEBSUB_HUB).
import { createHmac, hash } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { call } from '../remote/call.ts';
import type { Change } from '../stores/changes.ts';
import type { SubscriberNews } from '../stores/subscribers.ts';
import { describeChange, feedAddresses } from './addresses.ts';
import type { Subscriber } from './tell.ts';

/** So many users are named to a webhook; `vitrine changes` lists more. */
const MOST_NAMED = 1000;

/** Signed as Standard Webhooks are (https://www.standardwebhooks.com). */
export function createWebhook(url: URL, config: Config, secret: string | undefined): Subscriber {
  return {
    // Whoever knows the address of a build hook may call it.
    name: `webhook ${url.host} ${hash('sha256', url.href).slice(0, 8)}`,
    async tell(news, signal) {
      const body = JSON.stringify(describeNews(news, config));
      const id = `${news.generation}`;
      const timestamp = `${Math.floor(Date.now() / 1000)}`;
      const sign = (key: string) =>
        createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        ...(secret !== undefined && { 'webhook-signature': `v1,${sign(secret)}` }),
      };
      await call({ method: 'POST', url: url.href, headers, body }, signal);
    },
  };
}

const describeNews = ({ since, generation, changes }: SubscriberNews, config: Config) => ({
  generation: { before: since ?? null, after: generation },
  ...(changes === 'everything'
    ? { changes }
    : { counts: countChanges(changes), changes: nameChanges(changes, config) }),
});

const nameChanges = (changes: readonly Change[], config: Config) =>
  changes.length > MOST_NAMED ? 'many' : changes.map((change) => describeChange(config, change));

const countChanges = (changes: readonly Change[]) => ({
  profiles: changes.filter(({ profile }) => profile).length,
  lists: changes.filter(({ list }) => list).length,
  removed: changes.filter(({ username }) => username === undefined).length,
});

const FEEDS_AT_ONCE = 50;

/** A hub is not told of everything: readers of feeds ask again by themselves. */
export const createHub = (url: URL, config: Config): Subscriber => ({
  name: `hub ${url.host}`,
  async tell({ changes }, signal) {
    if (changes === 'everything') return;
    const feeds = changes
      .filter(({ username }) => username !== undefined)
      .flatMap((change) => feedAddresses(config, change));
    for (let at = 0; at < feeds.length; at += FEEDS_AT_ONCE) {
      const form = new URLSearchParams({ 'hub.mode': 'publish' });
      for (const feed of feeds.slice(at, at + FEEDS_AT_ONCE)) form.append('hub.url', feed);
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      await call({ method: 'POST', url: url.href, headers, body: `${form}` }, signal);
    }
  },
});
