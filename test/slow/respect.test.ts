// Redocly's `respect` drives a running server: it reads /openapi.json, builds the requests of an Arazzo document from
// it, and holds each response against it.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { ask, fixture, ROOT, readRecords, type Server, startServer, tempFolder } from '../rig.ts';

type Parameter = readonly [name: string, where: 'query' | 'path' | 'header', value: string];
interface Step {
  readonly operationId: string;
  readonly status: number;
  readonly parameters: readonly Parameter[];
}

const namesOf = (family: string) =>
  readRecords(fixture(`${family}.ndjson`)).flatMap(({ username }) => (username as string | undefined) ?? []);

const user = (name: string): Parameter => ['user', 'query', name];
const username = (name: string): Parameter => ['username', 'path', name];
const POSTS: Parameter = ['post', 'query', 'true'];
const ANY_ETAG: Parameter = ['If-None-Match', 'header', '*'];

const OF_A = 'getProfileOrItemsA';
const BY_PATH = ['getProfileB', 'getItemsB', 'getProfileC', 'getItemsC'];

const step = (status: number, operationId: string, ...parameters: Parameter[]): Step => ({
  operationId,
  status,
  parameters,
});

/** The same lookup in all variants; path-style variants have the profile and the list as two operations. */
const everywhere = (status: number, name: string, ...more: Parameter[]) => [
  step(status, OF_A, user(name), ...more),
  step(status, OF_A, user(name), POSTS, ...more),
  ...BY_PATH.map((operation) => step(status, operation, username(name), ...more)),
];

const STEPS: Step[] = [
  ...namesOf('microblog').flatMap((name) => [
    step(200, OF_A, user(name)),
    step(200, OF_A, user(name), POSTS),
  ]),
  ...namesOf('portfolio').flatMap((name) => BY_PATH.map((operation) => step(200, operation, username(name)))),
  ...everywhere(304, 'ada', ANY_ETAG),
  ...everywhere(404, 'nobody'),
  ...everywhere(400, 'a\u0007b'),
  ...everywhere(414, 'x'.repeat(256)),
  step(400, OF_A, user('ada'), ['post', 'query', 'yes']),
];

const workflowOf = ({ operationId, status, parameters }: Step, index: number) => ({
  workflowId: `w${index}`,
  steps: [
    {
      stepId: `s${index}`,
      operationId: `$sourceDescriptions.openapi.${operationId}`,
      parameters: parameters.map(([name, where, value]) => ({ name, in: where, value })),
      successCriteria: [{ condition: `$statusCode == ${status}` }],
    },
  ],
});

let server: Server;
beforeAll(async () => {
  server = await startServer();
});

interface Report {
  readonly totalRequests: number;
  readonly executedWorkflows: readonly { readonly executedSteps: readonly ExecutedStep[] }[];
}
interface ExecutedStep {
  readonly request: { readonly url: string };
  readonly checks: readonly { readonly name: string; readonly passed: boolean; readonly message: string }[];
}

/** Sends the requests of these steps; how many there were, and each check that failed. */
async function respect(steps: readonly Step[], document: string) {
  const folder = tempFolder();
  writeFileSync(join(folder, 'openapi.json'), document);
  const arazzo = {
    arazzo: '1.0.1',
    info: { title: 'Vitrine', version: '1.0.0' },
    sourceDescriptions: [{ name: 'openapi', type: 'openapi', url: 'openapi.json' }],
    workflows: steps.map(workflowOf),
  };
  writeFileSync(join(folder, 'requests.arazzo.json'), JSON.stringify(arazzo));
  const { PATH = '', HOME = '' } = process.env;
  const redocly = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js');
  const command = ['respect', 'requests.arazzo.json', '-S', `openapi=${server.url}`, '-J', 'report.json'];
  const env = { PATH, HOME, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const options = { cwd: folder, env, maxBuffer: 2 ** 26 };
  // It ends with 1 if a check failed; the report says which.
  await promisify(execFile)(process.execPath, [redocly, ...command], options).catch(() => {});
  const { files } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'));
  const { totalRequests, executedWorkflows } = files['requests.arazzo.json'] as Report;
  const faults = executedWorkflows
    .flatMap(({ executedSteps }) => executedSteps)
    .flatMap(({ request, checks }) =>
      checks
        .filter(({ passed }) => !passed)
        .map(({ name, message }) => `${request.url}: ${name}: ${message}`),
    );
  return { requests: totalRequests, faults };
}

test(`${STEPS.length} requests are answered as the document says`, async () => {
  const { body } = await ask(server, '/openapi.json');
  expect(await respect(STEPS, body)).toEqual({ requests: STEPS.length, faults: [] });
});

test('a deviation is found', async () => {
  const { body } = await ask(server, '/openapi.json');
  const { faults } = await respect(
    [step(200, 'getProfileB', username('ada'))],
    body.replaceAll('"bio"', '"biography"'),
  );
  expect(faults).toEqual([expect.stringMatching(/schema check.*biography/s)]);
});
