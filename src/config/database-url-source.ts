// Where the text of a setting comes from: a flag, the environment, or for DATABASE_URL a file.
import { readFileSync } from 'node:fs';
import { Mistake } from './setting-values.ts';

export interface SettingText {
  /** Undefined when nothing was given. */
  readonly text: string | undefined;
  /** The flag or variable, for messages. */
  readonly label: string;
  /** Whether the text must not be shown. */
  readonly isSecret?: boolean;
}

const isBlank = ({ text = '' }: SettingText) => text.trim() === '';

/** DATABASE_URL as it is, or from its file. */
export function chooseDatabaseUrl(url: SettingText, file: SettingText): SettingText {
  if (isBlank(file)) return url;
  if (!isBlank(url))
    throw new Mistake(`${url.label} and ${file.label} are both set: give one, and leave the other empty`);
  return { text: readSecret(file), label: file.label, isSecret: true };
}

const LONGEST_SECRET = 8192;

/** What the file holds, without the newline at its end. */
function readSecret({ text: path = '', label }: SettingText): string {
  let content: string;
  try {
    content = readFileSync(path.trim(), 'utf8').trimEnd();
  } catch (error) {
    throw new Mistake(
      `${label} must name a file that can be read (${(error as NodeJS.ErrnoException).code})`,
    );
  }
  if (content === '' || content.length > LONGEST_SECRET || /\p{Cc}/u.test(content))
    throw new Mistake(`${label} must name a file that holds one line, a DATABASE_URL`);
  return content;
}
