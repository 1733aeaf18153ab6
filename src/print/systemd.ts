// `vitrine print systemd`
import { dirname, isAbsolute, join } from 'node:path';
import { type Deployment, lines } from './deployment.ts';

const PROGRAM = '/opt/vitrine/src/vitrine.js';
const STATE = '/var/lib/vitrine';

export function systemd(deployment: Deployment): string {
  const { socket, socketMode, host, port, adminPort, stopTime, file, others } = deployment;
  const settings = [
    ...(socket === undefined
      ? [
          ['HOST', host],
          ['PORT', String(port)],
        ]
      : [['HOST', socket]]),
    ...(adminPort === undefined ? [] : [['ADMIN_PORT', String(adminPort)]]),
    ['TRUST_PROXY', 'loopback'],
    ...others,
  ].map(([name, text]) => `Environment="${name}=${text?.replace(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`);
  return `# Both units go to /etc/systemd/system, each under the name in its first line. Then:
#   useradd --system --home-dir ${STATE} vitrine
#   systemctl daemon-reload && systemctl enable --now vitrine.socket vitrine.service
# systemd holds the socket, so \`systemctl restart vitrine.service\` loses no request: those that arrive meanwhile wait.

# /etc/systemd/system/vitrine.socket
[Unit]
Description=Vitrine's socket

[Socket]
ListenStream=${socket ?? `${host}:${port}`}
${socket === undefined ? '' : `SocketMode=${socketMode}\nSocketGroup=www-data\n`}NoDelay=true

[Install]
WantedBy=sockets.target

# /etc/systemd/system/vitrine.service
[Unit]
Description=Vitrine: public profiles as JSON
Requires=vitrine.socket
After=vitrine.socket network-online.target
Wants=network-online.target

[Service]
# Node 24 or newer, and a checkout after \`npm ci --omit=dev\`.
ExecStart=/usr/bin/node ${PROGRAM} serve
${lines(settings)}${database(file)}User=vitrine
StateDirectory=vitrine
WorkingDirectory=${STATE}
UMask=0027
Restart=on-failure
# The signal goes to the server alone, which passes it on to its workers.
KillMode=mixed
TimeoutStopSec=${stopTime}s
MemoryMax=512M

# What it does not need.
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

[Install]
WantedBy=multi-user.target
`;
}

function database(file: string | undefined): string {
  if (file === undefined)
    return `# A file with the postgres:// URL, readable by root only.
LoadCredential=database-url:/etc/vitrine/database-url
Environment=DATABASE_URL_FILE=%d/database-url
`;
  const path = isAbsolute(file) ? file : join(STATE, file);
  const folder = dirname(path);
  return `# Import data with: sudo -u vitrine node ${PROGRAM} import --database-url ${path} people.ndjson
Environment="DATABASE_URL=${path}"
${folder === STATE ? '' : `ReadWritePaths=${folder}\n`}`;
}
