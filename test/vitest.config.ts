// Two lanes: `npm test` runs the quick tests, `npm run test:all` also the files named *.slow.test.ts and those in test/torture/.
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import {
  BaseSequencer,
  type Reporter,
  type TestModule,
  type TestSpecification,
  type Vitest,
} from 'vitest/node';
import { memoryFolder } from './support/memory-folder.ts';

const { node } = process.versions;
if (Number(node.split('.')[0]) < 24)
  throw new Error(`this is Node ${node}, and tests need 24: run them with npm, as in CONTRIBUTING.md`);

/** Vitest starts with the largest files. These take longer than their size says: they run other files, install or wait much. */
const LONG_QUICK = 'cases/\\w+';
const LONG_TORTURE = 'sizes|torture';
const LONG_SLOW =
  'npm-versions|install|on-postgres|bench|package|release|traces|first-view|hand-over|people|purge|attacks|slowhttptest|unread';
const LONG = new RegExp(`/(${LONG_QUICK}|${LONG_TORTURE}|(${LONG_SLOW})\\.slow)\\.test\\.ts$`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** A run whose `-t` matches no test fails: it would say that all is well, and has tested nothing. */
class MatchesSomething implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const pattern = this.#vitest?.config.testNamePattern;
    const ran = modules.flatMap(({ children }) => [...children.allTests()]);
    if (pattern === undefined || ran.some((test) => test.result().state !== 'skipped')) return;
    console.error(`No test matches ${pattern}.`);
    process.exitCode = 1;
  }
}

const ROOT = `${import.meta.dirname}/..`;
/** Files that change modules of src/ for themselves. The other files of the quick lane share theirs, loaded once. */
const ALONE = globSync('test/**/*.test.ts', { cwd: ROOT })
  .filter((name) => !name.endsWith('.slow.test.ts'))
  .filter((name) => /\bvi\.mock\(|support\/more-\w+\.ts'/.test(readFileSync(`${ROOT}/${name}`, 'utf8')));
const SLOW = ['test/**/*.slow.test.ts'];
const TORTURE = ['test/torture/*.test.ts'];
/** The slow tests use a disk. */
const IN_MEMORY = { TMPDIR: memoryFolder() };

export default defineConfig({
  test: {
    root: ROOT,
    pool: 'forks',
    // Tests wait much, so there are more workers than cores.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    reporters: ['default', new MatchesSomething()],
    provide: { writesGoldens: process.argv.some((word) => /^(-u|--update(=.*)?)$/.test(word)) },
    // `--changed` runs all tests after a change of what is not imported, such as fixtures, guides and migrations.
    forceRerunTriggers: ['**/vitest.config.ts', '**/!(*.ts)'],
    sequence: { sequencer: LongestFirst },
    // Many tests start servers, browsers and imports, on machines that may be slow or busy.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Those that wait for something wait as long; the default is a second.
    expect: { poll: { timeout: 100_000 } },
    setupFiles: ['test/support/clean-up.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: [...SLOW, ...TORTURE, ...ALONE],
          isolate: false,
          env: IN_MEMORY,
        },
      },
      { extends: true, test: { name: 'quick-alone', include: ALONE, env: IN_MEMORY } },
      { extends: true, test: { name: 'slow', include: SLOW } },
      {
        extends: true,
        test: {
          name: 'torture',
          include: TORTURE,
          maxConcurrency: 2,
        },
      },
    ],
  },
});
