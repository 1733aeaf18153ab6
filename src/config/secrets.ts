// Where the text of a setting comes from: a flag, the environment, or for secrets a file.

import { readFileSync } from 'node:fs';
import { errorCode } from '../records/thrown.ts';
import { ConfigError } from './setting-values.ts';

export interface SettingText {
  /** Undefined when nothing was given. */
  readonly text: string | undefined;
  /** The flag or variable, for messages. */
  readonly label: string;
}

/** Secrets that only the environment or a file may hold. The name with `_FILE` is that of the file. */
export const SECRETS = ['CLOUDFLARE_API_TOKEN', 'PURGE_TOKEN', 'NOTIFY_SECRET'];

const isBlank = ({ text = '' }: SettingText) => text.trim() === '';

/** The secret as it is, or from its file; `name` is that of the variable. */
export function chooseSecret(name: string, secret: SettingText, file: SettingText): SettingText {
  if (isBlank(file)) return secret;
  if (!isBlank(secret))
    throw new ConfigError([
      `${secret.label} and ${file.label} are both set: give one, and leave the other empty`,
    ]);
  return { text: readSecret(name, file), label: `what ${file.label} holds` };
}

/** A token, from the variable or from the file that the variable with `_FILE` names. */
export function readToken(name: string, environment: Record<string, string | undefined>): string | undefined {
  const find = (label: string) => ({ text: environment[label], label });
  const { text = '' } = chooseSecret(name, find(name), find(`${name}_FILE`));
  if (/[^\x21-\x7e]/.test(text.trim())) throw new ConfigError([`${name} must be one word of plain ASCII`]);
  return text.trim() || undefined;
}

const LONGEST_SECRET = 8192;

/** What the file holds, without the newline at its end. */
function readSecret(name: string, { text: path = '', label }: SettingText): string {
  let content: string;
  try {
    content = readFileSync(path.trim(), 'utf8').trimEnd();
  } catch (error) {
    const code = errorCode(error);
    throw new ConfigError([`${label} must name a file that can be read (${code})`]);
  }
  if (content === '' || content.length > LONGEST_SECRET || /\p{Cc}/u.test(content))
    throw new ConfigError([`${label} must name a file that holds one line, a ${name}`]);
  return content;
}
