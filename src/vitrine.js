#!/usr/bin/env node
// The way in. Every Node since 12 can read this file, so that one too old for the rest says so in a sentence.
if (Number(process.versions.node.split('.')[0]) >= 24) {
  // What passes through an import is young and soon gone: a heap that may not grow keeps the process small, and is given
  // to it at its start or not at all. The process is replaced, not doubled.
  const frugal = ['--max-semi-space-size=2', '--max-old-space-size=64'];
  const passesThrough = ['import', 'export', 'mirror'].includes(process.argv[2]);
  if (passesThrough && process.platform !== 'win32' && !process.execArgv.includes(frugal[0]))
    process.execve(
      process.execPath,
      [process.execPath, ...process.execArgv, ...frugal, ...process.argv.slice(1)],
      process.env,
    );
  // Code compiled once starts faster the next time; where the folder cannot be written, nothing is kept.
  const cache = `${import.meta.dirname}/../node_modules/.cache/vitrine`;
  process.getBuiltinModule('node:module').enableCompileCache(cache);
  import('./main.ts');
} else {
  console.error(
    `vitrine: this is Node ${process.versions.node}, and 24 or newer is needed. \`npm ci\` brings it: ` +
      'then use `npm start` or `npm run vitrine -- COMMAND`. Or install Node 24.',
  );
  process.exitCode = 2;
}
