// Webhooks: the programs of others that NOTIFY names.
import { createHmac, hash } from 'node:crypto';
import { ConfigError } from '../../config/setting-values.ts';
import type { Config } from '../../config/settings.ts';
import type { Change, PendingChanges } from '../../stores/sql/changes.ts';
import { call } from '../remote/host.ts';
import { describeChange } from './addresses.ts';
import type { Subscriber } from './notify.ts';

/** The most changes that a webhook gets; `vitrine changes` lists more. */
const MOST_NAMED = 1000;

/** Signed as Standard Webhooks are (https://www.standardwebhooks.com). */
export function createWebhook(url: URL, config: Config, secret: string | undefined): Subscriber {
  const key = secret === undefined ? undefined : readKey(secret);
  return {
    // The address of a build hook may be enough to call it.
    name: `webhook ${url.host} ${hash('sha256', url.href).slice(0, 8)}`,
    async deliver(delivery) {
      const body = JSON.stringify(describe(delivery, config));
      const id = `${delivery.generation}`;
      const timestamp = `${Math.floor(Date.now() / 1000)}`;
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        ...(key && { 'webhook-signature': sign(key, `${id}.${timestamp}.${body}`) }),
      };
      await call({ method: 'POST', url: url.href, headers, body }, delivery);
    },
  };
}

const sign = (key: Buffer, text: string) => `v1,${createHmac('sha256', key).update(text).digest('base64')}`;

/** `whsec_` and base64, as Standard Webhooks write keys; any other text is the key itself. */
function readKey(secret: string): Buffer {
  const [, encoded] = /^whsec_(.*)$/.exec(secret) ?? [];
  if (encoded === undefined) return Buffer.from(secret);
  const key = Buffer.from(encoded, 'base64');
  if (key.length === 0 || key.toString('base64') !== encoded)
    throw new ConfigError(['NOTIFY_SECRET that begins with whsec_ must go on in base64']);
  return key;
}

const describe = ({ since, generation, changes }: PendingChanges, config: Config) => ({
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
