// Runs the examples in console blocks of the README and the guides, and shows what they print.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PROGRAM, tempFolder } from '../support/files.ts';
import { ask } from '../support/http.ts';
import type { LocalServer } from '../support/server.ts';

const exec = promisify(execFile);

const WRONG_USAGE = 2;

interface Scene {
  readonly server?: LocalServer;
  /** The address that the page gives to that server. */
  readonly site?: string;
  /** Other servers, by the address that the page gives to them. */
  readonly others?: Record<string, LocalServer>;
  /** Where commands run. */
  readonly folder?: string;
}

/** The page with every output in its console blocks replaced by what the command really prints. */
export async function withOutputs(page: string, scene: Scene): Promise<string> {
  const parts = page.split(/^(```console\n.*?^```)$/ms);
  for (const [index, part] of parts.entries()) {
    if (!part.startsWith('```console\n')) continue;
    const examples = part.slice('```console\n'.length, -'```'.length).split(/^\$ /m).slice(1);
    const fresh: string[] = [];
    for (const example of examples) {
      const end = example.indexOf('\n');
      const [command, shown] = [example.slice(0, end), example.slice(end + 1)];
      fresh.push(`$ ${command}\n${shortened(await outputOf(command, scene), shown)}`);
    }
    parts[index] = `\`\`\`console\n${fresh.join('')}\`\`\``;
  }
  return parts.join('');
}

async function outputOf(
  command: string,
  { server, site = 'http://127.0.0.1:8080', others = {}, folder = tempFolder() }: Scene,
): Promise<string> {
  const servers = Object.entries({ ...(server && { [site]: server }), ...others });
  const real = servers.reduce((text, [address, { url }]) => text.replaceAll(address, url), command);
  if (real.startsWith('curl ')) {
    const url = real.slice('curl '.length).replaceAll("'", '');
    return `${(await ask(server as LocalServer, url.slice((server as LocalServer).url.length))).body}\n`;
  }
  const script = `vitrine() { '${process.execPath}' '${PROGRAM}' "$@"; }; ${real} 2>&1`;
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, DATABASE_URL: 'site.db' };
  const { code, stdout } = await exec('bash', ['-c', script], { cwd: folder, env }).catch((failed) => failed);
  if (code === WRONG_USAGE) throw new Error(`$ ${command}\n${stdout}`);
  return servers.reduce((text, [address, { url }]) => text.replaceAll(url, address), stdout);
}

/** An output that the page ends with `…` is cut: a list after its first item, a text after as many lines. */
function shortened(output: string, shown: string): string {
  if (!shown.endsWith('…\n')) return output;
  const lines = output.split('\n');
  if (lines.length > 2) return `${lines.slice(0, shown.split('\n').length - 2).join('\n')}\n…\n`;
  return `${output.slice(0, output.indexOf('},{') + '},'.length)}…\n`;
}
