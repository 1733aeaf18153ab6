// `vitrine print compose`
import { containerAdminPort, type Deployment, lines } from './deployment.ts';

/** A network of our own, so that TRUST_PROXY can name it: other private addresses may be clients. */
const NETWORK = '172.30.80.0/24';

export function compose(deployment: Deployment): string {
  const { port, stopTime, file, others } = deployment;
  // The image sets DATABASE_URL: empty, it leaves the word to the file.
  const database =
    file === undefined
      ? [
          ['DATABASE_URL', ''],
          ['DATABASE_URL_FILE', '/run/secrets/database-url'],
        ]
      : [['DATABASE_URL', '/data/site.db']];
  const settings = [
    ['HOST', '0.0.0.0'],
    ['PORT', String(port)],
    ...database,
    // The proxy on this machine arrives from the network's gateway, another container from its own address there.
    ['TRUST_PROXY', NETWORK],
    ['ADMIN_HOST', '0.0.0.0'],
    ['ADMIN_PORT', String(containerAdminPort(deployment))],
    ...others,
    // Compose would read a single dollar sign as a variable.
  ].map(([name, text]) => `${name}: ${JSON.stringify(text?.replaceAll('$', '$$$$'))}`);
  return `# Docker Compose or podman-compose for Vitrine, behind a proxy on the same machine. Save it as compose.yaml beside the
# Dockerfile. Import data with: docker compose exec -T vitrine vitrine import - < people.ndjson

services:
  vitrine:
    build: .
    image: vitrine
    restart: unless-stopped
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    mem_limit: 256m
    stop_grace_period: ${stopTime}s
    ports:
      - "127.0.0.1:${port}:${port}"  # this machine only: the proxy is the way in
    environment:
${lines(settings, '      ')}${file === undefined ? SECRET_USE : VOLUME_USE}    networks: [vitrine]

# TRUST_PROXY is this network and no other: the proxy on the machine arrives from its gateway. Under \`uniquelocal\`,
# clients in your own private networks could claim any address.
networks:
  vitrine:
    ipam:
      config:
        - subnet: ${NETWORK}

${file === undefined ? SECRET : VOLUME}`;
}

const VOLUME_USE = `    volumes:
      - data:/data
`;
const VOLUME = `volumes:
  data:
`;
const SECRET_USE = `    secrets: [database-url]
`;
const SECRET = `# A file with the postgres:// URL, readable by you only.
secrets:
  database-url:
    file: ./database-url
`;
