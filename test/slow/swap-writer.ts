// Imports in a worker thread, so that the test's requests are not blocked meanwhile.
import { parentPort, workerData } from 'node:worker_threads';
import { importFiles } from '../../src/import/import.ts';
import { openWriter } from '../../src/stores/sqlite/write.ts';

const writer = openWriter(workerData as string);
parentPort?.on('message', async ({ text, replace }: { text: string; replace: boolean }) => {
  const stdin = (async function* () {
    yield Buffer.from(text);
  })();
  const options = { replace, skipInvalid: false, onProgress() {}, onFault() {} };
  const { tallies } = await importFiles(writer, { files: ['-'], stdin, ...options });
  parentPort?.postMessage(tallies);
});
