// Certificates for tests of HTTPS, valid until 2120, and the authority that signed them. Made with openssl: `req -x509` for the
// authority and the self-signed one, `ca -startdate … -enddate …` for the others, all for localhost with one key.
import { readFileSync } from 'node:fs';
import { fixture } from './files.ts';

const read = (name: string) => readFileSync(fixture(`certificates/${name}.pem`), 'utf8');

export const AUTHORITY = read('authority');
export const KEY = read('key');
export const SIGNED = read('signed');
export const EXPIRED = read('expired');
export const SELF_SIGNED = read('self-signed');
