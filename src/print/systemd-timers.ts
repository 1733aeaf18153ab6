// `vitrine print systemd-timers`: a job and its timer for each command that is run every night.
import { type Deployment, lines, mountedMedia } from './deployment.ts';
import { ACCOUNT, database, HARDENING, quoted, start } from './systemd.ts';

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
const OF_COMMANDS = /^(BASE_URL|MEDIA)_/;

/** One at a time, also after a night in which the machine was off: those before it come first. */
function service({ name, words }: Job, before: readonly Job[], deployment: Deployment): string {
  const others = before.map((job) => ` vitrine-${job.name}.service`).join('');
  const settings = deployment.others.filter(([setting]) => OF_COMMANDS.test(setting));
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
${lines(settings.map(([setting, text]) => `Environment=${quoted(`${setting}=${text}`)}`))}${database(deployment.file)}ReadWritePaths=${folders.map((folder) => `-${quoted(folder)}`).join(' ')}
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
