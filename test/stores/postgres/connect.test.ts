// What connections are made with, before a server is asked. postgres-operation.slow.test.ts connects.
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parsePostgresUrl } from '../../../src/config/database-url.ts';
import { clientConfig } from '../../../src/stores/postgres/connect.ts';
import { KEY, SIGNED } from '../../support/certificates.ts';
import { tempFolder } from '../../support/files.ts';

const pem = { type: 'pkcs8', format: 'pem' } as const;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

test.each([
  ['the key of another certificate', SIGNED, privateKey.export(pem)],
  [
    'a key with a passphrase',
    SIGNED,
    privateKey.export({ ...pem, cipher: 'aes-256-cbc', passphrase: 'secret' }),
  ],
  ['no certificate', 'text', KEY],
  ['no key', SIGNED, 'text'],
])('files of a client certificate are refused by their names: %s', (_, cert, key) => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'cert'), cert);
  writeFileSync(join(folder, 'key'), key);
  const files = `sslcert=${join(folder, 'cert')}&sslkey=${join(folder, 'key')}`;
  const address = parsePostgresUrl(`postgres://me@localhost/site?sslmode=require&${files}`);
  expect(() => clientConfig(address, { host: 'localhost', port: 5432 })).toThrow(
    'sslcert and sslkey must name a certificate and its key, in PEM and without a passphrase.',
  );
});
