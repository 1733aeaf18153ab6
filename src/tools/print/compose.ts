// `vitrine print compose`
import { containerSettings, lines, MEDIA_MOUNT, mountedMedia, type PrintInput } from './input.ts';

/** A network of our own, so that TRUST_PROXY can name it: other private addresses may be clients. */
const NETWORK = '172.30.80.0/24';

export function compose(input: PrintInput): string {
  const { port, stopTime, file, memory, secrets } = input;
  const names = secrets.map(({ name }) => name);
  const media = mountedMedia(input);
  const mounts = [
    ...(file === undefined ? [] : ['data:/data']),
    ...(media === undefined ? [] : [JSON.stringify(escapeDollars(`${media}:${MEDIA_MOUNT}`))]),
  ];
  return `# Docker Compose or podman-compose for Vitrine, behind a proxy on the same machine. Save it as compose.yaml beside the
# Dockerfile. Import data with: docker compose exec -T vitrine vitrine import - < people.ndjson

services:
  vitrine:
    build: .
    image: vitrine
    container_name: vitrine
    restart: unless-stopped
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    mem_limit: ${memory}m
    stop_grace_period: ${stopTime}s
    logging: { driver: json-file, options: { max-size: 10m, max-file: "5" } }
    ports:
      - "127.0.0.1:${port}:${port}"  # this machine only: the proxy is the way in
    environment:
${lines(listSettings(input), '      ')}${names.length === 0 ? '' : `    secrets: [${names.join(', ')}]\n`}${mounts.length === 0 ? '' : volumes(mounts)}    networks: [vitrine]

# TRUST_PROXY is this network and no other: the proxy on the machine arrives from its gateway. Under \`uniquelocal\`,
# clients in your own private networks could claim any address.
networks:
  vitrine:
    ipam:
      config:
        - subnet: ${NETWORK}

${secretFiles(names)}${file === undefined ? '' : VOLUME}`;
}

/** Compose would read a single dollar sign as a variable. */
const escapeDollars = (text: string) => text.replaceAll('$', '$$$$');

/** The proxy on this machine arrives from the network's gateway, another container from its own address there. */
const listSettings = (input: PrintInput) =>
  [['TRUST_PROXY', NETWORK] as const, ...containerSettings(input, '/run/secrets')].map(
    ([name, text]) => `${name}: ${JSON.stringify(escapeDollars(text))}`,
  );

const volumes = (mounts: readonly string[]) =>
  lines(['volumes:', ...mounts.map((mount) => `  - ${mount}`)], '    ');
const VOLUME = `volumes:
  data:
`;

const secretFiles = (names: readonly string[]) =>
  names.length === 0
    ? ''
    : `# Files that each hold one setting. In the container, uid 1000 reads them, and nobody else should:
# chown 1000 ${names.join(' ')} && chmod 400 ${names.join(' ')}
secrets:
${names.map((name) => `  ${name}:\n    file: ./${name}\n`).join('')}`;
