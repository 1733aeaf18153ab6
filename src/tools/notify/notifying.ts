// Opens a database for changes of which subscribers are notified at the end of the command.

import { readConfig } from '../../config/config.ts';
import { readToken } from '../../config/secrets.ts';
import { baseUrlSetting, type Config, type SettingName, variableName } from '../../config/settings.ts';
import { openShown } from '../../import/open-shown.ts';
import { showSteps, type Terminal } from '../../import/terminal.ts';
import { explain } from '../../stores/command-errors.ts';
import type { StoreHandle } from '../../stores/open.ts';
import type { Writer } from '../../stores/writer.ts';
import { VARIANT_NAMES } from '../../variants.ts';
import type { Subscriber } from './notify.ts';

/** What notifying needs of the process. */
interface NotifyingProcess {
  readonly environment: Record<string, string | undefined>;
  readonly stderr: Terminal;
  readonly stopSignal: () => AbortSignal;
  readonly whileEndedBySignal: <T>(action: () => Promise<T>) => Promise<T>;
}

/** Milliseconds. A subscriber that takes longer is notified by the next command. */
const TIME_LIMIT = 60_000;

/** The addresses that answer differently. */
const ADDRESS_SETTINGS: readonly SettingName[] = [...VARIANT_NAMES.map(baseUrlSetting), 'explorer'];
const NOTIFY_SETTINGS: readonly SettingName[] = [...ADDRESS_SETTINGS, 'purge', 'notify', 'notifyFile'];

export async function createSubscribers(
  config: Config,
  { environment }: NotifyingProcess,
): Promise<Subscriber[]> {
  const { purge, notify } = config;
  if (purge.length + notify.length === 0) return [];
  const { createCaches } = await import('./caches.ts');
  const { createWebhook } = await import('./webhooks.ts');
  const secret = readToken('NOTIFY_SECRET', environment);
  return [...createCaches(config, environment), ...notify.map((url) => createWebhook(url, config, secret))];
}

/** Only some settings, so that mistakes in others do not stop the command. */
function readSome(settings: readonly SettingName[], { environment }: NotifyingProcess): Config {
  const names = settings.map(variableName);
  return readConfig({}, Object.fromEntries(names.map((name) => [name, environment[name]])));
}

export const readNotifyConfig = (context: NotifyingProcess) => readSome(NOTIFY_SETTINGS, context);

/** For a command that names addresses and sends nothing. */
export const readAddressConfig = (context: NotifyingProcess) => readSome(ADDRESS_SETTINGS, context);

type NotifyingWriter = StoreHandle<Writer> & { readonly hasSubscribers: boolean };

/** A writer that notifies the subscribers of its changes when it is closed. */
export async function openNotifying(
  url: string,
  context: NotifyingProcess,
  options: { readonly mustExist?: boolean } = {},
): Promise<NotifyingWriter> {
  const subscribers = await createSubscribers(readNotifyConfig(context), context);
  const writer = await openShown(url, context, options);

  async function end(): Promise<void> {
    try {
      // Without subscribers, names that a takedown has kept for them are erased.
      const isNeeded = subscribers.length > 0 || (await writer.keepsNames().catch(() => false));
      if (isNeeded) await notify(writer, subscribers, context);
    } finally {
      await writer.close();
    }
  }
  return { ...writer, hasSubscribers: subscribers.length > 0, [Symbol.asyncDispose]: end };
}

/** Notifies the subscribers of changes that were committed without such a writer: what goes wrong is a warning. */
export async function notifyChanges(url: string, context: NotifyingProcess): Promise<void> {
  try {
    const subscribers = await createSubscribers(readNotifyConfig(context), context);
    if (subscribers.length === 0) return;
    await using writer = await openShown(url, context);
    await notify(writer, subscribers, context);
  } catch (error) {
    context.stderr.write(`subscribers could not be notified: ${explain(error).join(' ')}\n`);
  }
}

/** What goes wrong is a warning. */
async function notify(
  writer: Writer,
  subscribers: readonly Subscriber[],
  { stopSignal, stderr }: NotifyingProcess,
): Promise<void> {
  const { notifySubscribers } = await import('./notify.ts');
  const signal = AbortSignal.any([stopSignal(), AbortSignal.timeout(TIME_LIMIT)]);
  const failures = await showSteps(stderr, (onStep) =>
    notifySubscribers(writer, subscribers, signal, { onStep }),
  ).catch((error) => [`subscribers could not be notified: ${explain(error).join(' ')}`]);
  for (const failure of failures) stderr.write(`${failure}\n`);
}
