// Opens a database for changes that others are told of at the end of the command.
import type { Subscriber } from '../changes/tell.ts';
import { type Config, readConfig, type SettingName, variableName } from '../config/config.ts';
import { readToken } from '../config/secrets.ts';
import { openForChange, type StoreHandle } from '../stores/open.ts';
import type { Writer } from '../stores/writer.ts';
import type { CommandContext } from './context.ts';
import { explain } from './output.ts';

/** Milliseconds. A subscriber that takes longer is told by the next command. */
const TIME_LIMIT = 60_000;

/** Which subscribers are told, and of which addresses. */
const TELLING_SETTINGS: readonly SettingName[] = [
  'baseUrlA',
  'baseUrlB',
  'baseUrlC',
  'explorer',
  'purge',
  'notify',
  'websubHub',
];

export async function createSubscribers(
  config: Config,
  { environment }: CommandContext,
): Promise<Subscriber[]> {
  const { purge, notify, websubHub } = config;
  if (purge.length + notify.length === 0 && websubHub === undefined) return [];
  const { createCaches } = await import('../purge/caches.ts');
  const { createHub, createWebhook } = await import('../changes/webhooks.ts');
  const secret = readToken('NOTIFY_SECRET', environment);
  return [
    ...createCaches(config, environment),
    ...notify.map((url) => createWebhook(url, config, secret)),
    ...(websubHub === undefined ? [] : [createHub(websubHub, config)]),
  ];
}

/** Only the settings that concern telling, so that mistakes in others do not stop the command. */
export function readTellingConfig({ environment }: CommandContext): Config {
  const names = TELLING_SETTINGS.map(variableName);
  return readConfig({}, Object.fromEntries(names.map((name) => [name, environment[name]])));
}

type TellingWriter = StoreHandle<Writer> & { readonly hasSubscribers: boolean };

/** A writer that tells the subscribers of its changes when it is closed. */
export async function openTelling(
  url: string,
  context: CommandContext,
  open = openForChange,
): Promise<TellingWriter> {
  const subscribers = await createSubscribers(readTellingConfig(context), context);
  const writer = await open(url);

  async function end(): Promise<void> {
    try {
      // Also when there are no subscribers any more: then nobody is waited for.
      const tells = subscribers.length > 0 || (await writer.keepsNames().catch(() => false));
      if (tells) await tell(writer, subscribers, context);
    } finally {
      await writer.close();
    }
  }
  return { ...writer, hasSubscribers: subscribers.length > 0, [Symbol.asyncDispose]: end };
}

/** Tells the subscribers of changes that were made without such a writer. */
export async function tellChanges(url: string, context: CommandContext): Promise<void> {
  await using _ = await openTelling(url, context);
}

/** What goes wrong is a warning. */
async function tell(
  writer: Writer,
  subscribers: readonly Subscriber[],
  { stopSignal, stderr }: CommandContext,
): Promise<void> {
  const { tellSubscribers } = await import('../changes/tell.ts');
  const signal = AbortSignal.any([stopSignal(), AbortSignal.timeout(TIME_LIMIT)]);
  const failures = await tellSubscribers(writer, subscribers, signal).catch((error) => [
    `what changed could not be told: ${explain(error).lines.join(' ')}`,
  ]);
  for (const failure of failures) stderr.write(`${failure}\n`);
}
