// Certificates for tests of HTTPS, valid until 2120, and the authority that signed them. Made with openssl: `req -x509` for the
// authority and the self-signed ones, `ca -startdate … -enddate …` for the others, for localhost unless they say so, with one key.
import { readFileSync } from 'node:fs';
import { fixture } from './files.ts';

const read = (name: string) => readFileSync(fixture(`certificates/${name}.pem`), 'utf8');

export const AUTHORITY = read('authority');
export const KEY = read('key');
export const SIGNED = read('signed');
export const EXPIRED = read('expired');
/** For 127.0.0.1, signed by itself. */
export const OF_ADDRESS = read('address');
export const SELF_SIGNED = read('self-signed');
