#!/usr/bin/env node
// The entry point. Every Node since 12 can read this file, so that one too old for the rest says so in a sentence.
const isInstalled = /[\\/]node_modules[\\/]/.test(import.meta.dirname ?? import.meta.url);

if (Number(process.versions.node.split('.')[0]) >= 24) {
  start();
} else {
  console.error(
    `vitrine: this is Node ${process.versions.node}, and 24 or newer is needed. ${
      isInstalled
        ? 'Install Node 24.'
        : '`npm ci` brings it: then use `npm start` or `npm run -s vitrine -- COMMAND`. Or install Node 24.'
    }`,
  );
  process.exitCode = 2;
}

async function start() {
  // Compiled code is cached, which makes the next start faster. A folder that cannot be written is ignored.
  const cache = `${import.meta.dirname}/../node_modules/.cache/vitrine`;
  process.getBuiltinModule('node:module').enableCompileCache(cache);
  // It would open Node's debugger, in workers and commands as well.
  process.on('SIGUSR1', () => {});
  if (isInstalled) {
    await import('./installed.js');
    // For threads.
    process.execArgv.push('--import', new URL('installed.js', import.meta.url).href);
  }
  await import('./main.ts');
}
