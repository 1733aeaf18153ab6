#!/usr/bin/env node
// The entry point. Every Node since 12 can read this file, so that one too old for the rest says so in a sentence. So do
// programs that take themselves for Node: Bun answered each request with 200 and nothing.
const { node, bun, deno } = process.versions;
if (bun !== undefined || deno !== undefined) {
  refuse(bun === undefined ? `Deno ${deno}` : `Bun ${bun}`, 'Node 24 or newer');
} else if (Number(node.split('.')[0]) < 24) {
  refuse(`Node ${node}`, '24 or newer');
} else {
  start();
}

function refuse(found, needed) {
  console.error(
    `vitrine: this is ${found}, and ${needed} is needed. In a checkout \`npm ci\` brings it: then use \`npm start\` or \`npm run -s vitrine -- COMMAND\`. Otherwise install Node 24.`,
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
