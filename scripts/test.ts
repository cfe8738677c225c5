// `npm test`: everything, and what CI runs. `--check`: its part without model, client and process tests. `--golden`:
// writes the golden files anew. Other arguments: only test files whose path contains one of them.
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { enginesFolder, modelsFolder } from '../test/models-folder.ts';
import { CHECKS, runCheck } from './checks.ts';
import { endGroupsOnSignal } from './process-group.ts';
import { runWithSecondRun } from './second-run.ts';
import { createSummary } from './summary.ts';
import { runTestPass, type TestPass } from './test-pass.ts';
import { pullWeights } from './weights.ts';

/** Its limits only end what hangs: they are many times what it takes, as a machine may be slow and busy. */
interface PassPlan extends Omit<TestPass, 'files' | 'env'> {
  readonly globs: readonly string[];
  /** Whether weights are pulled before it. */
  readonly needsWeights: boolean;
  /** Whether each test is shown as it ends; else only those that do not pass. */
  readonly showsEach: boolean;
}

/** Engines of tests have one thread each; more of them than processors, and tests with a time limit would fail for nothing. */
const AT_ONCE = Math.min(2, availableParallelism());

const UNIT: PassPlan = {
  name: 'unit',
  globs: ['src/**/*.test.ts', 'test/tidy.test.ts', 'test/contracts/**/*.test.ts', 'scripts/**/*.test.ts'],
  isolation: 'none',
  atOnce: AT_ONCE,
  // A test, or the start of a database, takes a few seconds at most; on a machine that others use, several times as long.
  testTimeoutMs: 60_000,
  passTimeoutMs: 1_800_000,
  needsWeights: false,
  showsEach: false,
};

const LATER: readonly PassPlan[] = [
  {
    name: 'process',
    globs: ['test/process/**/*.test.ts', 'test/crash/**/*.test.ts'],
    isolation: 'process',
    atOnce: AT_ONCE,
    // As long as what these tests wait for one after the other: a start, a lease, an end.
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsWeights: false,
    showsEach: true,
  },
  {
    // What it asks of the engine has limits of time, which hold where nobody else has one running.
    name: 'engine',
    globs: ['test/model/engine-*.test.ts'],
    isolation: 'process',
    atOnce: 1,
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsWeights: true,
    showsEach: true,
  },
  {
    name: 'model',
    globs: ['test/model/**/!(engine-*).test.ts'],
    isolation: 'process',
    atOnce: AT_ONCE,
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsWeights: true,
    showsEach: true,
  },
  {
    name: 'clients',
    globs: ['test/clients/**/*.test.ts'],
    isolation: 'process',
    atOnce: AT_ONCE,
    testTimeoutMs: 180_000,
    passTimeoutMs: 3_600_000,
    needsWeights: true,
    showsEach: true,
  },
];

const args = process.argv.slice(2);
const isGolden = args.includes('--golden');
const isCheck = args.includes('--check') || isGolden;
const wanted = args.filter((arg) => !arg.startsWith('-'));

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
endGroupsOnSignal();
const summary = createSummary({ isStrict: process.env.PARLEY_TEST_STRICT === '1' });

if (!isGolden && wanted.length === 0) await check();
await runPass(UNIT);
if (!isCheck) for (const plan of LATER) await runPass(plan);
process.exitCode = summary.close();

async function check(): Promise<void> {
  await Promise.all(
    CHECKS.map(async (item) => {
      const startedAt = performance.now();
      const finding = await runCheck(item);
      summary.step(item.name, {
        outcome: finding === undefined ? 'passed' : 'failed',
        detail: finding ?? '',
        durationMs: performance.now() - startedAt,
      });
    }),
  );
}

async function runPass({ globs, needsWeights, showsEach, ...pass }: PassPlan): Promise<void> {
  const files = [...new Set(globSync([...globs], { exclude: ['**/node_modules/**'] }))]
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
    .toSorted();
  if (files.length === 0) return;
  if (needsWeights && !summary.knows('weights')) {
    const startedAt = performance.now();
    const pulled = await pullWeights();
    summary.step('weights', { ...pulled, durationMs: performance.now() - startedAt });
  }
  const finish = summary.begin(pass.name, { files: files.length, showsEach });
  const whole = { ...pass, files, env: environment() };
  const runFiles = pass.isolation === 'none' ? runTestPass : runWithSecondRun;
  finish(await runFiles(whole, (test) => summary.test(test)));
}

/** Tests see no setting that this machine has for its own Parley, except where the weights lie. */
function environment(): NodeJS.ProcessEnv {
  const kept = new Set(['PARLEY_MODELS', 'PARLEY_TEST_STRICT', 'PARLEY_PYTHON', 'PARLEY_JAVA']);
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_') || kept.has(name));
  return {
    ...Object.fromEntries(entries),
    PARLEY_MODELS_FOLDER: modelsFolder(),
    PARLEY_ENGINES_FOLDER: enginesFolder(),
    NODE_ENV: 'test',
    ...(isGolden && { GOLDEN: '1' }),
  };
}
