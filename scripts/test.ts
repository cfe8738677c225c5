// `npm test` runs everything, as CI does. `--check` runs the checks and the unit tests only, and properties a tenth as
// often unless `--full-runs` is given, which also makes the process pass try more random grammars and kills. `--golden`
// rewrites the golden files. Other arguments select test files: those whose path contains one of them.
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getEnginesFolder, getModelsFolder } from '../test/models-folder.ts';
import { CHECKS, runCheck } from './checks.ts';
import { killGroupsOnSignal } from './process-group.ts';
import { runTestPassWithRetry } from './run-with-retry.ts';
import { createSummary } from './summary.ts';
import { runTestPass, type TestPass } from './test-pass.ts';
import { pullWeights } from './weights.ts';

/**
 * Plan of a pass. Its time limits only end tests that hang: they are many times what the tests need on a busy machine.
 */
interface PassPlan extends Omit<TestPass, 'files' | 'env'> {
  readonly globs: readonly string[];
  /** Whether weights are downloaded before the pass. */
  readonly needsWeights: boolean;
  /** Whether each test is printed when it finishes; otherwise only those that do not pass. */
  readonly showsEach: boolean;
}

/** Test engines have one thread each. More of them than processors would make tests with time limits fail. */
const TEST_CONCURRENCY = Math.min(2, availableParallelism());

/** Returns the globs of the test files in folders of `test`, and in those of the capabilities, which have the same names. */
const getTestGlobs = (...folders: readonly string[]): readonly string[] =>
  folders.flatMap((folder) => [`test/${folder}/**/*.test.ts`, `src/capabilities/*/test/${folder}/**/*.test.ts`]);

const UNIT_PASS: PassPlan = {
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
  needsWeights: false,
  showsEach: false,
};

/**
 * The complete service, the contracts on every database and blob store, and files named `*.integration.test.ts`: tests in
 * one process with real databases, child processes, listeners or documents.
 */
const INTEGRATION_PASS: PassPlan = {
  ...UNIT_PASS,
  name: 'integration',
  globs: [
    'src/service/**/*.test.ts',
    ...getTestGlobs('service', 'contracts'),
    'src/!(service)/**/*.integration.test.ts',
    'scripts/**/*.integration.test.ts',
  ],
};

const SLOW_PASSES: readonly PassPlan[] = [
  {
    name: 'process',
    globs: getTestGlobs('process', 'crash'),
    isolation: 'process',
    concurrency: TEST_CONCURRENCY,
    // Covers the waits of these tests in sequence: a start, a lease, a termination.
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsWeights: false,
    showsEach: true,
  },
  {
    // One at a time, because the time limits of these tests hold only while no other engine runs.
    name: 'engine',
    globs: ['test/model/engine-*.test.ts'],
    isolation: 'process',
    concurrency: 1,
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsWeights: true,
    showsEach: true,
  },
  {
    name: 'model',
    globs: getTestGlobs('model').map((glob) => glob.replace('*.test.ts', '!(engine-*).test.ts')),
    isolation: 'process',
    concurrency: TEST_CONCURRENCY,
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsWeights: true,
    showsEach: true,
  },
  {
    name: 'clients',
    globs: getTestGlobs('clients'),
    isolation: 'process',
    concurrency: TEST_CONCURRENCY,
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsWeights: true,
    showsEach: true,
  },
];

const args = process.argv.slice(2);
const isGolden = args.includes('--golden');
const isCheck = args.includes('--check') || isGolden;
const hasFullPropertyRuns = !isCheck || args.includes('--full-runs');
const hasFullRepetitions = args.includes('--full-runs');
const pathParts = args.filter((arg) => !arg.startsWith('-'));

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
killGroupsOnSignal();
const summary = createSummary({ isStrict: process.env.PARLEY_TEST_STRICT === '1' });

if (!isGolden && pathParts.length === 0) await runChecks();
await runPass(UNIT_PASS);
if (!isCheck || isGolden || pathParts.length > 0) await runPass(INTEGRATION_PASS);
if (!isCheck) for (const plan of SLOW_PASSES) await runPass(plan);
process.exitCode = summary.close();

async function runChecks(): Promise<void> {
  await Promise.all(
    CHECKS.map(async (item) => {
      const startedAt = performance.now();
      const finding = await runCheck(item);
      summary.addStep(item.name, {
        outcome: finding === undefined ? 'passed' : 'failed',
        detail: finding ?? '',
        durationMs: performance.now() - startedAt,
      });
    }),
  );
}

async function runPass({ globs, needsWeights, showsEach, ...pass }: PassPlan): Promise<void> {
  const files = [...new Set(globSync([...globs], { exclude: ['**/node_modules/**'] }))]
    .filter((file) => pathParts.length === 0 || pathParts.some((part) => file.includes(part)))
    .toSorted();
  if (files.length === 0) return;
  if (needsWeights && !summary.hasStep('weights')) {
    const startedAt = performance.now();
    const pulled = await pullWeights();
    summary.addStep('weights', { ...pulled, durationMs: performance.now() - startedAt });
  }
  const finish = summary.startPass(pass.name, { files: files.length, showsEach });
  const whole = { ...pass, files, env: createTestEnvironment() };
  const runFiles = pass.isolation === 'none' ? runTestPass : runTestPassWithRetry;
  finish(await runFiles(whole, (test) => summary.addTest(test)));
}

/**
 * The environment of the tests: no PARLEY_ variables of this machine, except those that locate weights and programs.
 */
function createTestEnvironment(): NodeJS.ProcessEnv {
  const keptNames = new Set(['PARLEY_MODELS', 'PARLEY_TEST_STRICT', 'PARLEY_PYTHON', 'PARLEY_JAVA']);
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_') || keptNames.has(name));
  return {
    ...Object.fromEntries(entries),
    PARLEY_MODELS_FOLDER: getModelsFolder(),
    PARLEY_ENGINES_FOLDER: getEnginesFolder(),
    NODE_ENV: 'test',
    // Loading all modules takes half the CPU time with a warm cache; services that tests start use the cache too.
    NODE_COMPILE_CACHE: resolve('.cache/compile'),
    ...(hasFullPropertyRuns && { PARLEY_PROPERTY_RUNS: 'full' }),
    ...(hasFullRepetitions && { PARLEY_TEST_FULL: '1' }),
    ...(isGolden && { GOLDEN: '1' }),
  };
}
