// The options of the Fastify plugin. What is wrong with them is said in a sentence.

import { readConfig } from '../config/config.ts';
import { ConfigError } from '../config/setting-values.ts';
import { type Config, flagName, type SettingName } from '../config/settings.ts';
import { nearest } from '../records/nearest.ts';
import { VARIANT_NAMES, VARIANTS, type Variant } from '../variants.ts';

export interface VitrineOptions {
  /** The database, as in DATABASE_URL: a SQLite file or a postgres:// address. Vitrine's commands load it. */
  database: string;
  variant: Variant;
  /** Where the API is: what stands in place of the specification's `/api`, which is used without a prefix. */
  prefix?: string;
  /** Of answers; as in CACHE_CONTROL. */
  cacheControl?: string;
  /** Who may read from a browser; as in CORS_ORIGIN. By default any page, or what @fastify/cors says if the app has it. */
  corsOrigin?: string;
  /** What takes the place of users who were taken down. */
  takedownStatus?: '404' | '410';
}

/** The options that are settings, by the names of those. */
const SETTINGS = [
  ['databaseUrl', 'database'],
  ['cacheControl', 'cacheControl'],
  ['corsOrigin', 'corsOrigin'],
  ['takedownStatus', 'takedownStatus'],
] as const satisfies readonly (readonly [SettingName, keyof VitrineOptions])[];
const FASTIFY_OPTIONS = ['prefix', 'logLevel', 'logSerializers'];
const OPTIONS: readonly string[] = [...SETTINGS.map(([, name]) => name), 'variant', ...FASTIFY_OPTIONS];

/** Throws a sentence for what is wrong with the options. Options of others are ignored, since apps share them among plugins. */
export function readOptions(options: VitrineOptions): Config & { readonly databaseUrl: string } {
  for (const name of Object.keys(options)) {
    const meant = OPTIONS.includes(name) ? undefined : nearest(name, OPTIONS);
    if (meant !== undefined) throw mistake(`there is no option \`${name}\`: did you mean \`${meant}\`?`);
  }
  const { database, variant } = options;
  if (typeof database !== 'string' || database.trim() === '')
    throw mistake('the option `database` must name a SQLite file or a postgres:// address');
  if (!Object.hasOwn(VARIANTS, variant ?? ''))
    throw mistake(`the option \`variant\` must be ${VARIANT_NAMES.join(', ')}, not ${String(variant)}`);
  for (const [, name] of SETTINGS)
    if (options[name] !== undefined && typeof options[name] !== 'string')
      throw mistake(`the option \`${name}\` must be a string`);
  try {
    const flags = Object.fromEntries(SETTINGS.map(([setting, name]) => [setting, options[name]]));
    const { databaseUrl = database, ...config } = readConfig(flags);
    return { ...config, databaseUrl };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Its sentences name the flags of the program.
    const text = SETTINGS.reduce(
      (text, [setting, name]) => text.replaceAll(flagName(setting), `the option \`${name}\``),
      error.message,
    );
    throw mistake(text);
  }
}

const mistake = (text: string) => new Error(`vitrine: ${text}`);
