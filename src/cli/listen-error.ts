// Why a server cannot listen, as a sentence that says what to do.
import { existsSync, lstatSync } from 'node:fs';
import { dirname } from 'node:path';

/** What Node says of an address, a unix socket or a name that it cannot listen on. */
type ListenError = NodeJS.ErrnoException & {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
};

/** Undefined for any other error. */
export function listenError({ code, syscall, address = '', port = 0, hostname }: ListenError) {
  if (syscall === 'getaddrinfo')
    return `the host name ${hostname} is not known here: set an address, or another name`;
  if (syscall !== 'listen' && syscall !== 'bind') return undefined;
  return address.startsWith('/') ? socketError(code, address) : portError(code, address, port);
}

function portError(code: string | undefined, address: string, port: number): string | undefined {
  const host = address.includes(':') ? `[${address}]` : address;
  if (code === 'EADDRINUSE')
    return `the address is in use: ${host}:${port}; stop the program that listens there, or set another port`;
  if (code === 'EADDRNOTAVAIL')
    return `${address} is not an address of this machine: set one that is, or 0.0.0.0 for all`;
  if (code === 'EACCES')
    return `this user may not listen on port ${port}: set one from 1024 on, or let systemd open the socket`;
  return undefined;
}

function socketError(code: string | undefined, path: string): string | undefined {
  const folder = dirname(path);
  if (code === 'EADDRINUSE')
    return isOtherFile(path)
      ? `${path} is there already and is not a socket: remove it, or set another path`
      : `the address is in use: ${path}; stop the server that listens there, or set another path`;
  // Node says EACCES of a folder that does not exist as well.
  if (code === 'ENOENT' || (code === 'EACCES' && !existsSync(folder)))
    return `the folder ${folder} does not exist: create it, or set another path`;
  if (code === 'ENOTDIR') return `${folder} is not a folder: set another path`;
  if (code === 'EACCES' || code === 'EROFS')
    return `this user may not create ${path}: let it write to the folder, or set another path`;
  return undefined;
}

function isOtherFile(path: string): boolean {
  try {
    return !lstatSync(path).isSocket();
  } catch {
    return false;
  }
}
