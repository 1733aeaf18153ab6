// `vitrine print systemd`, and `vitrine print systemd-timers`: a job and its timer for each command that is run every night.
import { isIPv6 } from 'node:net';
import { dirname, isAbsolute, join } from 'node:path';
import { shellWord } from '../records/printable.ts';
import { type Deployment, lines, mountedMedia, STATE } from './deployment.ts';

const PROGRAM = '/opt/vitrine/src/vitrine.js';

/** The command line of a unit. SIGUSR1 opens no debugger, not even before the program is loaded. */
const start = (words: string) => `ExecStart=/usr/bin/node --disable-sigusr1 ${PROGRAM} ${words}`;

export function systemd(deployment: Deployment): string {
  const { socket, port, adminPort, stopTime, file, others } = deployment;
  const { host, socketMode, adminHost } = deployment.config;
  const settings = [
    `HOST=${host}`,
    ...(socket === undefined ? [`PORT=${port}`] : []),
    ...(adminPort === undefined ? [] : [`ADMIN_HOST=${adminHost}`, `ADMIN_PORT=${adminPort}`]),
    `TRUST_PROXY=${deployment.trustProxy ?? 'loopback'}`,
    ...others.map(([name, text]) => `${name}=${text}`),
  ].map((text) => `Environment=${quoted(text)}`);
  return `# Both units go to /etc/systemd/system, each under the name in its first line. Then:
#   useradd --system --home-dir ${STATE} vitrine
#   systemctl daemon-reload && systemctl enable --now vitrine.socket vitrine.service
# systemd holds the socket, so \`systemctl restart vitrine.service\` loses no request: those that arrive meanwhile wait.

# /etc/systemd/system/vitrine.socket
[Unit]
Description=Vitrine's socket

[Socket]
ListenStream=${socket ?? `${streamHost(host)}:${port}`}
${socket === undefined ? '' : `SocketMode=${socketMode.toString(8).padStart(4, '0')}\nSocketGroup=www-data\n`}NoDelay=true

[Install]
WantedBy=sockets.target

# /etc/systemd/system/vitrine.service
[Unit]
Description=Vitrine: public profiles as JSON
Requires=vitrine.socket
After=vitrine.socket network-online.target
Wants=network-online.target

[Service]
# Node 24 or newer, which \`npm ci --omit=dev\` does not bring and Debian has not yet, and a checkout after that command.
${start('serve')}
${lines(settings)}${importHint(deployment)}${database(file)}${ACCOUNT}Restart=on-failure
# The signal goes to the server alone, which passes it on to its workers.
KillMode=mixed
TimeoutStopSec=${stopTime}s
MemoryMax=${deployment.memory}M

${HARDENING}[Install]
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

/** One word for systemd, in which a percent sign begins a specifier. */
const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`;

/** systemd takes no host names. */
function streamHost(host: string): string {
  if (host === 'localhost') return '127.0.0.1';
  return isIPv6(host) ? `[${host}]` : host;
}

const absolutePath = (file: string) => (isAbsolute(file) ? file : join(STATE, file));

/** By hand nobody is told: the command that tells caches runs as root, since nginx's files belong to its own user. */
function importHint({ file, others, told }: Deployment): string {
  if (file === undefined) return '';
  const database = `--database-url ${shellWord(absolutePath(file))}`;
  const hint = `# Import data with: sudo -u vitrine node ${PROGRAM} import ${database} people.ndjson\n`;
  if (!told) return hint;
  const settings = others.filter(([name]) => OF_COMMANDS.test(name));
  const words = settings.map(([name, text]) => shellWord(`${name}=${text}`)).join(' ');
  return `${hint}# Then tell others of it: sudo env ${words} node ${PROGRAM} purge ${database}\n`;
}

/** The database, and the right to write beside it. */
function database(file: string | undefined): string {
  if (file === undefined)
    return `# A file with the postgres:// URL, readable by root only.
LoadCredential=database-url:/etc/vitrine/database-url
Environment=DATABASE_URL_FILE=%d/database-url
`;
  const path = absolutePath(file);
  const folder = dirname(path);
  return `Environment=${quoted(`DATABASE_URL=${path}`)}
${folder === STATE ? '' : `ReadWritePaths=${quoted(folder)}\n`}`;
}

const BACKUPS = '/var/backups/vitrine';

interface Job {
  readonly name: string;
  readonly time: string;
  readonly words: string;
}

/** Changes the data before it is copied. */
const jobs = ({ file }: Deployment): Job[] => [
  {
    name: 'mirror',
    time: '02:15',
    words: 'mirror --variant b --from https://old.example.org/b --users /etc/vitrine/users.txt',
  },
  { name: 'import', time: '03:15', words: 'import --replace /srv/export/people.ndjson' },
  { name: 'media', time: '04:15', words: 'media fetch --media-hosts old.example.org' },
  // A PostgreSQL database has no file to copy.
  {
    name: 'snapshot',
    time: '05:15',
    words: file === undefined ? `export ${BACKUPS}/site.ndjson.gz` : `snapshot --keep 7 ${BACKUPS}`,
  },
];

export function systemdTimers(deployment: Deployment): string {
  const all = jobs(deployment);
  const units = all.map((job, at) => service(job, all.slice(0, at), deployment) + timer(job));
  return `# Nightly jobs. Keep those that you need, change their commands, and save each unit in /etc/systemd/system under the name in
# its first line. Then:
#   install -d -o vitrine -g vitrine ${BACKUPS}
#   systemctl daemon-reload && systemctl enable --now vitrine-import.timer vitrine-snapshot.timer
# A job that fails leaves the data as it was: \`systemctl status vitrine-import\` says why.

${units.join('')}`;
}

/** Other settings concern the server only. */
const OF_COMMANDS = /^(BASE_URL|MEDIA)_|^(EXPLORER|NOTIFY|PURGE|WEBSUB_HUB)$/;

/** The cache belongs to nginx's user, so the job itself is not told of it. */
const purgeAsRoot = (caches: string) => `# The cache belongs to nginx's user: root tells it what changed.
${start('purge').replace('ExecStart=', `ExecStartPost=+/usr/bin/env ${quoted(`PURGE=${caches}`).replaceAll('$', '$$$$')} `)}
`;

/** One at a time, also after a night in which the machine was off: those before it come first. */
function service({ name, words }: Job, before: readonly Job[], deployment: Deployment): string {
  const others = before.map((job) => ` vitrine-${job.name}.service`).join('');
  const byRoot = deployment.others.find(([setting]) => setting === 'PURGE' && deployment.tellsNginx);
  const settings = deployment.others.filter((each) => each !== byRoot && OF_COMMANDS.test(each[0]));
  const media = mountedMedia(deployment);
  const folders = media === undefined ? [BACKUPS] : [BACKUPS, media];
  return `# /etc/systemd/system/vitrine-${name}.service
[Unit]
Description=Vitrine: ${name}
After=network-online.target${others}
Wants=network-online.target

[Service]
Type=oneshot
${start(words)}
${byRoot === undefined ? '' : purgeAsRoot(byRoot[1])}${lines(settings.map(([setting, text]) => `Environment=${quoted(`${setting}=${text}`)}`))}${database(deployment.file)}ReadWritePaths=${folders.map((folder) => `-${quoted(folder)}`).join(' ')}
${ACCOUNT}
${HARDENING}`;
}

const timer = ({ name, time }: Job) => `# /etc/systemd/system/vitrine-${name}.timer
[Unit]
Description=Vitrine: ${name}, every night

[Timer]
OnCalendar=*-*-* ${time}:00
Persistent=true

[Install]
WantedBy=timers.target

`;
