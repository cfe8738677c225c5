// The passes of `npm test`, and which test files belong to each.
import { availableParallelism } from 'node:os';
import type { TestPass } from './test-pass.ts';

/**
 * Plan of a pass. Its time limits only end tests that hang: they are many times what the tests need on a busy machine.
 */
export interface PassPlan extends Omit<TestPass, 'files' | 'env'> {
  readonly globs: readonly string[];
  /** Files that take longest, which start first, so that no process is busy with one of them after all others. */
  readonly longFiles?: readonly string[];
  /** Whether the pass waits for what CI installs (`.ci/prepare`), and for weights. */
  readonly needsPreparation: boolean;
  /** Whether its tests use weights, which are downloaded if they are missing. */
  readonly needsWeights: boolean;
  /** Whether each test is printed when it finishes; otherwise only those that do not pass. */
  readonly showsEach: boolean;
}

/** Test engines have one thread each. More of them than processors would make tests with time limits fail. */
const TEST_CONCURRENCY = Math.min(2, availableParallelism());

/** For passes whose tests mostly start programs and wait for them. */
const PROCESS_CONCURRENCY = TEST_CONCURRENCY + 1;

/** Returns the globs of the test files in folders of `test`, and in those of the capabilities, which have the same names. */
const getTestGlobs = (...folders: readonly string[]): readonly string[] =>
  folders.flatMap((folder) => [`test/${folder}/**/*.test.ts`, `src/capabilities/*/test/${folder}/**/*.test.ts`]);

export const UNIT_PASS: PassPlan = {
  name: 'unit',
  globs: [
    'src/!(service|capabilities)/**/!(*.integration).test.ts',
    'src/capabilities/*/!(test)/**/!(*.integration).test.ts',
    'src/capabilities/*/!(*.integration).test.ts',
    'test/tidy.test.ts',
    'scripts/**/!(*.integration).test.ts',
  ],
  isolation: 'none',
  concurrency: TEST_CONCURRENCY,
  // A test, or the start of a database, takes a few seconds at most; several times as long on a busy machine.
  testTimeoutMs: 60_000,
  passTimeoutMs: 1_800_000,
  needsPreparation: false,
  needsWeights: false,
  showsEach: false,
};

/**
 * The complete service, the contracts on every database and blob store, and files named `*.integration.test.ts`: tests in
 * one process with real databases, child processes, listeners or documents.
 */
export const INTEGRATION_PASS: PassPlan = {
  ...UNIT_PASS,
  name: 'integration',
  globs: [
    'src/service/**/*.test.ts',
    ...getTestGlobs('service', 'contracts'),
    'src/!(service)/**/*.integration.test.ts',
    'scripts/**/*.integration.test.ts',
  ],
};

export const SLOW_PASSES: readonly PassPlan[] = [
  {
    name: 'attack',
    globs: getTestGlobs('attack'),
    isolation: 'process',
    // These tests measure how long others wait.
    concurrency: 1,
    testTimeoutMs: 180_000,
    passTimeoutMs: 1_800_000,
    needsPreparation: true,
    needsWeights: false,
    showsEach: true,
  },
  {
    name: 'process',
    globs: getTestGlobs('process', 'crash'),
    longFiles: [
      'src/capabilities/code-interpreter/test/process/code-attacks.test.ts',
      'src/capabilities/code-interpreter/test/process/code-interpreter.test.ts',
      'test/process/package.test.ts',
      'test/process/npm-scripts.test.ts',
      'test/crash/server-deployments.test.ts',
      'src/capabilities/search-index/test/process/search-recall.test.ts',
      'test/crash/batches.test.ts',
      'test/process/backup.test.ts',
      'src/capabilities/research/test/process/research.test.ts',
    ],
    isolation: 'process',
    concurrency: PROCESS_CONCURRENCY,
    // Covers the waits of these tests in sequence: a start, a lease, a termination.
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsPreparation: true,
    needsWeights: true,
    showsEach: true,
  },
  {
    name: 'model',
    globs: getTestGlobs('model'),
    longFiles: [
      'src/capabilities/search-index/test/model/search-service.test.ts',
      'test/model/engine-llama.test.ts',
      'test/model/deployments.test.ts',
      'test/model/engine-remote.test.ts',
      'test/model/explicit-cache.test.ts',
      'test/model/malformed-files.test.ts',
      'src/capabilities/recognition/test/model/speech-service.test.ts',
    ],
    isolation: 'process',
    concurrency: TEST_CONCURRENCY,
    testTimeoutMs: 400_000,
    passTimeoutMs: 3_600_000,
    needsPreparation: true,
    needsWeights: true,
    showsEach: true,
  },
  {
    name: 'clients',
    globs: getTestGlobs('clients'),
    longFiles: [
      'test/clients/server-tools.test.ts',
      'test/clients/openai-node-tools.test.ts',
      'test/clients/dashscope-python.test.ts',
      'test/clients/dashscope-python-client.test.ts',
      'src/capabilities/research/test/clients/research-corpus-python.test.ts',
      'test/clients/langchain.test.ts',
      'test/clients/examples.test.ts',
    ],
    isolation: 'process',
    concurrency: PROCESS_CONCURRENCY,
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsPreparation: true,
    needsWeights: true,
    showsEach: true,
  },
];
