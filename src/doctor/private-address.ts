// Whether a host is reached from its own machine or network only.
import { isIP } from 'node:net';

export const isPrivate = (hostname: string) =>
  hostname === 'localhost' ||
  (isIP(hostname.replace(/^\[|\]$/g, '')) > 0 &&
    /^(127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|\[(::1|f[cd]|fe[89ab]))/i.test(hostname));
