// `npm test` runs every test, as CI does; `--check` runs the checks and the unit tests only. `--full-runs` sets
// PARLEY_TEST_FULL, with which properties and slow tests repeat more. `--golden` rewrites the golden files. Other
// arguments select test files: those whose path contains one of them. PARLEY_TEST_PREPARATION names a program that installs
// what slow tests need; it runs beside the first passes.
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getEnginesFolder, getModelsFolder } from '../test/models-folder.ts';
import { CHECKS, runCheck } from './checks.ts';
import { INTEGRATION_PASS, SLOW_PASSES, UNIT_PASS, type PassPlan } from './pass-plans.ts';
import { runPreparation } from './preparation.ts';
import { killGroupsOnSignal } from './process-group.ts';
import { runTestPassWithRetry } from './run-with-retry.ts';
import { createSummary, type Step } from './summary.ts';
import { runTestPass } from './test-pass.ts';
import { pullWeights } from './weights.ts';

const args = process.argv.slice(2);
const isGolden = args.includes('--golden');
const isCheck = args.includes('--check') || isGolden;
const isFull = args.includes('--full-runs');
const pathParts = args.filter((arg) => !arg.startsWith('-'));

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
killGroupsOnSignal();
const summary = createSummary({ isStrict: process.env.PARLEY_TEST_STRICT === '1' });

const plans = isCheck && !isGolden && pathParts.length === 0 ? [UNIT_PASS] : [UNIT_PASS, INTEGRATION_PASS];
const passes = [...plans, ...(isCheck ? [] : SLOW_PASSES)]
  .map((plan) => ({ plan, files: listFiles(plan) }))
  .filter(({ files }) => files.length > 0);

// Installs meanwhile what later passes need: downloads wait for the network most of the time.
const preparation = process.env.PARLEY_TEST_PREPARATION;
const steps = [
  ...(preparation !== undefined && passes.some(({ plan }) => plan.needsPreparation)
    ? [runStep('preparation', () => runPreparation(preparation))]
    : []),
  ...(passes.some(({ plan }) => plan.needsWeights) ? [runStep('weights', pullWeights)] : []),
];
if (!isGolden && pathParts.length === 0)
  await Promise.all(CHECKS.map((item) => runStep(item.name, () => runCheck(item))));
for (const { plan, files } of passes) {
  if (plan.needsPreparation) await Promise.all(steps);
  await runPass(plan, files);
}
process.exitCode = summary.close();

async function runStep(name: string, run: () => Promise<Pick<Step, 'outcome' | 'detail'>>): Promise<void> {
  const startedAt = performance.now();
  const { outcome, detail } = await run();
  summary.addStep(name, { outcome, detail, durationMs: performance.now() - startedAt });
}

function listFiles({ globs, longFiles = [] }: PassPlan): readonly string[] {
  return (
    [...new Set(globSync([...globs], { exclude: ['**/node_modules/**'] }))]
      .filter((file) => pathParts.length === 0 || pathParts.some((part) => file.includes(part)))
      .toSorted()
      // Array.sort is stable: files of equal position stay in the order of their names.
      .toSorted((a, b) => getPosition(longFiles, a) - getPosition(longFiles, b))
  );
}

async function runPass({ showsEach, ...pass }: PassPlan, files: readonly string[]): Promise<void> {
  const finish = summary.startPass(pass.name, { files: files.length, showsEach });
  const whole = { ...pass, files, env: createTestEnvironment(), onFile: summary.addFile, onNote: summary.addNote };
  const runFiles = pass.isolation === 'none' ? runTestPass : runTestPassWithRetry;
  finish(await runFiles(whole, (test) => summary.addTest(test)));
}

/** Returns the index of a file in a list, and the length of the list for other files. */
function getPosition(list: readonly string[], file: string): number {
  return list.includes(file) ? list.indexOf(file) : list.length;
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
    ...(isFull && { PARLEY_TEST_FULL: '1' }),
    ...(isGolden && { GOLDEN: '1' }),
  };
}
