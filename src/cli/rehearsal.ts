// `vitrine serve --rehearse`: the settings of a rehearsal, which is refused where real clients could meet it.
import { randomInt } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { describeData, isPostgresUrl } from '../config/database-url.ts';
import { ConfigError } from '../config/setting-values.ts';
import { parseDelay, parseFail } from '../rehearsal/rehearsal.ts';

export interface RehearsalFlags {
  readonly delay?: string | undefined;
  readonly fail?: string | undefined;
  readonly seed?: number | undefined;
  readonly yes: boolean;
}

/** Without a seed, the log names a new one, so that the run can be repeated. */
export function prepareRehearsal(
  config: Config,
  { delay, fail, seed = randomInt(1_000_000), yes }: RehearsalFlags,
  environment: Record<string, string | undefined>,
): { config: Config; notes: string[] } {
  const { host, databaseUrl = '' } = config;
  const isLocal = /^(localhost|127\.[\d.]+|::1|\/.*)$/i.test(host) && !environment.LISTEN_FDS;
  const mistakes = [
    environment.NODE_ENV === 'production' && '--rehearse is refused with NODE_ENV=production',
    isPostgresUrl(databaseUrl) &&
      `--rehearse serves files, samples or a SQLite database, not ${describeData(config)}`,
    !isLocal && !yes && `--rehearse is refused at a public address, as ${host} may be: --yes allows it`,
    delay !== undefined && findMistake('--delay', parseDelay, delay),
    fail !== undefined && findMistake('--fail', parseFail, fail),
  ].filter((mistake) => typeof mistake === 'string');
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const planned = [delay && `--delay ${delay}`, fail && `--fail ${fail}`, `--seed ${seed}`].filter(Boolean);
  return {
    config: { ...config, ...UNCACHED, workers: 1, rehearsal: { delay, fail, seed } },
    notes: [`rehearsal, not for real clients: ${planned.join(' ')}`],
  };
}

/** Stored answers are written past the hooks. */
const UNCACHED = { cacheControl: 'no-store', purge: [] };

function findMistake(flag: string, parse: (text: string) => unknown, text: string): string | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    return `${flag} ${(error as Error).message}`;
  }
}
