// `vitrine doctor`
import { Argument } from 'commander';
import type { DoctorOptions } from '../tools/doctor/doctor.ts';
import type { CommandContext } from './context.ts';
import { baseUrlArgument, createCommand, examples, numberArgument, variantOption } from './options.ts';

const RESULT = '`checks`, each with `check`, `state` and `text`';

export const command = (context: CommandContext) =>
  createCommand('doctor', RESULT, [])
    .addArgument(new Argument('<base-url>', 'the public base address').argParser(baseUrlArgument))
    .addOption(variantOption())
    .option('--user <name>', 'an existing user (default: ada, a sample user)')
    .option('--timeout <seconds>', 'time limit of one request', numberArgument(0.1, 600), 10)
    .addHelpText(
      'after',
      examples('vitrine doctor https://example.org/b --user ada', 'vitrine doctor http://127.0.0.1:8080'),
    )
    .action(async (base: URL, flags: Omit<DoctorOptions, 'base'>) => {
      const { diagnose } = await import('../tools/doctor/doctor.ts');
      const { report, findings, failure } = await diagnose({ ...flags, base, timeout: flags.timeout * 1000 });
      const checks = findings.map(({ check: { name: check }, finding: { state, text } }) => ({
        check,
        state,
        text,
      }));
      context.report({ summary: report, result: { checks }, failure });
    });
