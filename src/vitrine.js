#!/usr/bin/env node
// The entry point. Every Node since 12 can read this file, so that one too old for the rest says so in a sentence.
import { existsSync } from 'node:fs';

// A package has JavaScript, made by `npm run pack`: Node does not strip types from what is installed.
const isPackage = existsSync(new URL('main.js', import.meta.url));

if (Number(process.versions.node.split('.')[0]) >= 24) {
  // Compiled code is cached, which makes the next start faster. A folder that cannot be written is ignored.
  const cache = `${import.meta.dirname}/../node_modules/.cache/vitrine`;
  process.getBuiltinModule('node:module').enableCompileCache(cache);
  // It would open Node's debugger, in workers and commands as well.
  process.on('SIGUSR1', () => {});
  import(isPackage ? './main.js' : './main.ts').catch(refuseUnpacked);
} else {
  console.error(
    `vitrine: this is Node ${process.versions.node}, and 24 or newer is needed. ${
      isPackage
        ? 'Install Node 24.'
        : '`npm ci` brings it: then use `npm start` or `npm run -s vitrine -- COMMAND`. Or install Node 24.'
    }`,
  );
  process.exitCode = 2;
}

function refuseUnpacked(error) {
  if (error.code !== 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING') throw error;
  console.error('vitrine: this package was made by `npm pack`: make one with `npm run pack`.');
  process.exitCode = 1;
}
