// `vitrine media relink`
import type { Command } from 'commander';
import { openExisting } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { linkingUrl, MEDIA_SETTINGS, mediaPlaceOf } from './media-settings.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';

const HELP = `
Profiles and lists are rebuilt in one transaction: no response mixes two addresses. Without MEDIA_URL the address that
copies were linked with last stays, and only copies that are not linked yet are.
${examples('vitrine media relink --media-url https://pictures.example.org')}`;

export const mediaRelinkCommand = (context: CommandContext): Command =>
  createCommand('relink', 'make what is served name the copies under MEDIA_URL', MEDIA_SETTINGS)
    .addHelpText('after', HELP)
    .action((flags: SettingFlags) => runMediaRelink(flags, context));

async function runMediaRelink(flags: SettingFlags, context: CommandContext): Promise<void> {
  const place = mediaPlaceOf(flags, context);
  const writer = await openExisting(place.database);
  try {
    const mediaUrl = await linkingUrl(place);
    const relinked = await writer.relink(mediaUrl);
    const text = `copies are named under ${mediaUrl}\nprofiles and lists rebuilt: ${relinked}`;
    context.report({ text, result: { mediaUrl, relinked } });
  } finally {
    await writer.close();
  }
}
