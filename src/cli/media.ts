// `vitrine media`: the copies of pictures. One file for each of its commands.
import { Command } from 'commander';
import type { CommandContext } from './context.ts';
import { mediaCheckCommand } from './media-check.ts';
import { mediaFetchCommand } from './media-fetch.ts';
import { mediaPruneCommand } from './media-prune.ts';
import { mediaRelinkCommand } from './media-relink.ts';
import { mediaStatusCommand } from './media-status.ts';

const COMMANDS = [
  mediaFetchCommand,
  mediaRelinkCommand,
  mediaStatusCommand,
  mediaCheckCommand,
  mediaPruneCommand,
];

export function mediaCommand(context: CommandContext): Command {
  const group = new Command('media').description(
    'copy the pictures that records name, and look after the copies',
  );
  for (const create of COMMANDS) group.addCommand(create(context));
  return group;
}
