// `vitrine print systemd`: the server with its socket, and a job with its timer for each command that is run every night.
import { isIPv6 } from 'node:net';
import { dirname, isAbsolute, join } from 'node:path';
import { shellWord } from '../../records/printable.ts';
import { lines, mountedMedia, type PrintInput, STATE } from './input.ts';

const BACKUPS = '/var/backups/vitrine';
const PROGRAM = '/opt/vitrine/src/vitrine.js';

/** The command line of a unit. SIGUSR1 opens no debugger, not even before the program is loaded. */
const command = (words: string) => `/usr/bin/node --disable-sigusr1 ${PROGRAM} ${words}`;

/** What to do with the units. */
export const SYSTEMD_STEPS = [
  `useradd --system --home-dir ${STATE} vitrine`,
  `install -d -o vitrine -g vitrine ${BACKUPS}`,
  'systemctl daemon-reload && systemctl enable --now vitrine.socket vitrine.service',
  'systemctl enable --now vitrine-import.timer vitrine-snapshot.timer  # the nightly jobs that you need',
];

export function systemd(input: PrintInput): string {
  const units = systemdUnits(input).map(({ name, text }) => `# /etc/systemd/system/${name}\n${text}`);
  return `# Each unit goes to /etc/systemd/system under the name above it: \`vitrine print systemd --to FOLDER\` writes them. Then:
${lines(SYSTEMD_STEPS, '#   ')}# systemd holds the socket, so \`systemctl restart vitrine.service\` loses no request: those that arrive meanwhile wait.
# Change the commands of the jobs. One that fails leaves the data as it was: \`systemctl status vitrine-import\` says why.

${units.join('\n')}`;
}

interface Unit {
  readonly name: string;
  readonly text: string;
}

/** The socket, the server, and the nightly jobs with their timers. */
export function systemdUnits(input: PrintInput): Unit[] {
  const jobs = listJobs(input);
  return [
    { name: 'vitrine.socket', text: socketUnit(input) },
    { name: 'vitrine.service', text: serverUnit(input) },
    ...jobs.flatMap((job, at) => [
      { name: `vitrine-${job.name}.service`, text: jobUnit(job, jobs.slice(0, at), input) },
      { name: `vitrine-${job.name}.timer`, text: timerUnit(job) },
    ]),
  ];
}

const socketUnit = ({ socket, port, config: { host } }: PrintInput) => `[Unit]
Description=Vitrine's socket

[Socket]
ListenStream=${socket ?? `${streamHost(host)}:${port}`}
${socket === undefined ? '' : `SocketMode=0660\nSocketGroup=www-data\n`}NoDelay=true

[Install]
WantedBy=sockets.target
`;

function serverUnit(input: PrintInput): string {
  const { socket, port, adminPort, stopTime, file, others, memory, trustProxy = 'loopback' } = input;
  const { host, adminHost } = input.config;
  const settings = [
    `HOST=${host}`,
    ...(socket === undefined ? [`PORT=${port}`] : []),
    ...(adminPort === undefined ? [] : [`ADMIN_HOST=${adminHost}`, `ADMIN_PORT=${adminPort}`]),
    `TRUST_PROXY=${trustProxy}`,
    ...(file === undefined || others.some(([name]) => name === 'SNAPSHOT_DIR')
      ? []
      : [`SNAPSHOT_DIR=${BACKUPS}`]),
    ...others.map(([name, text]) => `${name}=${text}`),
  ];
  return `[Unit]
Description=Vitrine: public profiles as JSON
Requires=vitrine.socket
After=vitrine.socket network-online.target
Wants=network-online.target

[Service]
# Node 24 or newer, which \`npm ci --omit=dev\` does not bring and Debian has not yet, and a checkout after that command.
ExecStart=${command('serve')}
${environment(settings)}${importHint(input)}${database(file)}${credentials(input)}${ACCOUNT}Restart=on-failure
# The signal goes to the server alone, which passes it on to its workers.
KillMode=mixed
TimeoutStopSec=${stopTime}s
# Threads share two pools of memory. One for each takes more under attack.
Environment=MALLOC_ARENA_MAX=2
MemoryMax=${memory}M

${HARDENING}
[Install]
WantedBy=multi-user.target
`;
}

const ACCOUNT = `User=vitrine
StateDirectory=vitrine
WorkingDirectory=${STATE}
UMask=0027
`;

const HARDENING = `# What it does not need.
CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
`;

const environment = (settings: readonly string[]) =>
  lines(settings.map((text) => `Environment=${quoted(text)}`));

/** One word for systemd, in which a percent sign begins a specifier. */
const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`;

/** systemd takes no host names. */
function streamHost(host: string): string {
  if (host === 'localhost') return '127.0.0.1';
  return isIPv6(host) ? `[${host}]` : host;
}

const absolutePath = (file: string) => (isAbsolute(file) ? file : join(STATE, file));

/** An import by hand does not purge nginx's cache: its files belong to nginx's user, so that command runs as root. */
function importHint({ file, secrets, others, notifies }: PrintInput): string {
  if (file === undefined) return '';
  const database = `--database-url ${shellWord(absolutePath(file))}`;
  const hint = `# Import data as root with: runuser -u vitrine -- /usr/bin/node ${PROGRAM} import ${database} people.ndjson\n`;
  if (!notifies) return hint;
  const settings = others.filter(([name]) => OF_COMMANDS.test(name));
  const files = secrets.map(({ variable, name }) => `${variable}_FILE=${SECRETS_FOLDER}/${name}`);
  const words = [...settings.map(([name, text]) => shellWord(`${name}=${text}`)), ...files].join(' ');
  return `${hint}# Then: env ${words} /usr/bin/node ${PROGRAM} purge ${database}\n`;
}

const SECRETS_FOLDER = '/etc/vitrine';

/** The settings that hold secrets. */
const credentials = ({ secrets }: PrintInput) =>
  secrets
    .map(
      ({ variable, name }) => `# A file that holds ${variable}, readable by root only.
LoadCredential=${name}:${SECRETS_FOLDER}/${name}
Environment=${variable}_FILE=%d/${name}
`,
    )
    .join('');

/** The database, and the right to write beside it. */
function database(file: string | undefined): string {
  if (file === undefined) return '';
  const path = absolutePath(file);
  const folder = dirname(path);
  return `Environment=${quoted(`DATABASE_URL=${path}`)}
${folder === STATE ? '' : `ReadWritePaths=${quoted(folder)}\n`}`;
}

interface Job {
  readonly name: string;
  readonly time: string;
  readonly words: string;
  /** The folders that it writes, besides that of the database. */
  readonly writes: readonly (string | undefined)[];
}

/** Those that change the data come before it is copied. */
function listJobs(input: PrintInput): Job[] {
  const media = mountedMedia(input);
  const mirror = 'mirror --variant b --from https://old.example.org/b --users /etc/vitrine/users.txt';
  // A PostgreSQL database has no file to copy.
  const copy = input.file === undefined ? `export ${BACKUPS}/site.ndjson.gz` : `snapshot --keep 7 ${BACKUPS}`;
  return [
    { name: 'mirror', time: '02:15', words: mirror, writes: [media] },
    { name: 'import', time: '03:15', words: 'import --replace /srv/export/people.ndjson', writes: [] },
    { name: 'media', time: '04:15', words: 'media fetch --media-hosts old.example.org', writes: [media] },
    { name: 'snapshot', time: '05:15', words: copy, writes: [BACKUPS] },
  ];
}

/** Other settings concern the server only. */
const OF_COMMANDS = /^(BASE_URL|MEDIA)_|^(EXPLORER|PURGE)$/;

/** The cache belongs to nginx's user, so the job itself does not purge it. */
const purgeAsRoot = (caches: string) => `# The cache belongs to nginx's user: root purges it.
ExecStartPost=+/usr/bin/env ${quoted(`PURGE=${caches}`).replaceAll('$', '$$$$')} ${command('purge')}
`;

/** One at a time, also after a night in which the machine was off: those before it come first. */
function jobUnit({ name, words, writes }: Job, before: readonly Job[], input: PrintInput): string {
  const others = before.map((job) => ` vitrine-${job.name}.service`).join('');
  const byRoot = input.others.find(([setting]) => setting === 'PURGE' && input.purgesNginx);
  const settings = input.others.filter((each) => each !== byRoot && OF_COMMANDS.test(each[0]));
  const folders = writes.filter((folder) => folder !== undefined).map((folder) => `-${quoted(folder)}`);
  return `[Unit]
Description=Vitrine: ${name}
After=network-online.target${others}
Wants=network-online.target

[Service]
Type=oneshot
ExecStart=${command(words)}
${byRoot === undefined ? '' : purgeAsRoot(byRoot[1])}${environment(settings.map(([setting, text]) => `${setting}=${text}`))}${database(input.file)}${credentials(input)}${lines(folders.map((folder) => `ReadWritePaths=${folder}`))}${ACCOUNT}
${HARDENING}`;
}

const timerUnit = ({ name, time }: Job) => `[Unit]
Description=Vitrine: ${name}, every night

[Timer]
OnCalendar=*-*-* ${time}:00
Persistent=true

[Install]
WantedBy=timers.target
`;
