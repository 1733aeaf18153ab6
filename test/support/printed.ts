// What `vitrine print` prints, for tests that run it: with other ports and folders than on a real machine.

import { TEXTS, type TextName } from '../../src/cli/print.ts';
import { explicitSettings, readConfig } from '../../src/config/config.ts';
import { createPrintInput } from '../../src/tools/print/input.ts';

export const printed = (name: TextName, env: Record<string, string> = {}): string =>
  TEXTS[name](createPrintInput(readConfig({}, env), explicitSettings({}, env)));

/** Replaces texts that must stand once. */
export function fillIn(
  text: string,
  ...fillers: readonly (readonly [found: string, filler: string])[]
): string {
  return fillers.reduce((before, [found, filler]) => {
    if (before.split(found).length !== 2) throw new Error(`the configuration must contain ${found} once`);
    return before.replace(found, () => filler);
  }, text);
}

/** The JSON error of a proxy when no server answers, and its headers. */
export const UNAVAILABLE = {
  body: (status: number, error: string) => ({
    statusCode: String(status),
    code: 'NOT_READY',
    error,
    message: 'The service is unavailable: try again shortly.',
  }),
  headers: {
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
    'cache-control': 'no-store',
    'retry-after': '1',
  },
};
