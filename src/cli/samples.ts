// `vitrine samples`
import { Readable } from 'node:stream';
import { SETTINGS } from '../config/settings.ts';
import type { Family } from '../records/kinds.ts';
import type { CommandContext } from './context.ts';
import {
  createCommand,
  examples,
  familyOption,
  outputArgument,
  settingArgument,
  wholeNumberArgument,
} from './options.ts';

interface SamplesFlags {
  readonly users: number;
  readonly seed: number;
  readonly family?: Family;
  readonly awkward: boolean;
  readonly picturesUrl: string;
}

const MOST_USERS = 100_000_000;
const PICTURES_URL = `http://localhost:${SETTINGS.port.defaultText}/samples/`;

const RESULT = '`file`, `users`';

export const command = (context: CommandContext) =>
  createCommand('samples', RESULT, [])
    .addArgument(outputArgument())
    .option('--users <number>', 'how many', wholeNumberArgument(1, MOST_USERS), 100)
    .option('--seed <number>', 'another number gives other users', wholeNumberArgument(0, 2 ** 31 - 1), 1)
    .addOption(familyOption('of all users; otherwise they take turns'))
    .option('--awkward', 'make every fifth user one that breaks layouts', false)
    .option(
      '--pictures-url <url>',
      'what the addresses of pictures begin with; `serve FILE` draws them',
      settingArgument('the URL', readPicturesUrl),
      PICTURES_URL,
    )
    .addHelpText(
      'after',
      `
The same numbers give the same bytes on every machine.
${examples('vitrine samples --users 5000 people.ndjson', 'vitrine samples --awkward --family portfolio | vitrine import -')}`,
    )
    .action((file: string | undefined, flags: SamplesFlags) => runSamples(file, flags, context));

async function runSamples(file: string | undefined, flags: SamplesFlags, context: CommandContext) {
  if (file === undefined) context.keepStdoutForData();
  const { generateSamples } = await import('../import/samples/generate.ts');
  const { writeLines } = await import('../import/export.ts');
  const { stdout } = context;
  const signal = context.stopSignal();
  const lines = Readable.from(generateSamples(flags), { objectMode: false, highWaterMark: 1 << 20 });
  await writeLines(lines, { file, stdout, signal });
  context.report({ summary: '', result: { file: file ?? null, users: flags.users } });
}

function readPicturesUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('must be an http or https URL');
  if (/[?#]/.test(text)) throw new Error('must have no ? and no #');
  return url.href.replace(/\/?$/, '/');
}
