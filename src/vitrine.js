#!/usr/bin/env node
// The entry point. Every Node since 12 can read this file, so that one too old for the rest says so in a sentence.
if (Number(process.versions.node.split('.')[0]) >= 24) {
  start();
} else {
  console.error(
    `vitrine: this is Node ${process.versions.node}, and 24 or newer is needed. In a checkout \`npm ci\` brings it: then use \`npm start\` or \`npm run -s vitrine -- COMMAND\`. Otherwise install Node 24.`,
  );
  process.exitCode = 2;
}

async function start() {
  const { enableCompileCache } = process.getBuiltinModule('node:module');
  // Compiled code is cached, which makes the next start faster. A folder that cannot be written is ignored.
  enableCompileCache(`${import.meta.dirname}/../node_modules/.cache/vitrine`);
  // It would open Node's debugger, in workers and commands as well.
  process.on('SIGUSR1', () => {});
  await import('./main.ts');
}
