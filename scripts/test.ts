// `npm test` runs every test, as CI does; `--check` runs the checks and the unit tests only. `--full-runs` sets
// PARLEY_TEST_FULL, with which properties and slow tests repeat more. `--golden` rewrites the golden files. Other
// arguments select test files: those whose path contains one of them.
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getEnginesFolder, getModelsFolder } from '../test/models-folder.ts';
import { CHECKS, runCheck } from './checks.ts';
import { INTEGRATION_PASS, SLOW_PASSES, UNIT_PASS, type PassPlan } from './pass-plans.ts';
import { killGroupsOnSignal } from './process-group.ts';
import { runTestPassWithRetry } from './run-with-retry.ts';
import { createSummary } from './summary.ts';
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

async function runPass({ globs, longFiles = [], needsWeights, showsEach, ...pass }: PassPlan): Promise<void> {
  const files = [...new Set(globSync([...globs], { exclude: ['**/node_modules/**'] }))]
    .filter((file) => pathParts.length === 0 || pathParts.some((part) => file.includes(part)))
    .toSorted()
    // Array.sort is stable: files of equal position stay in the order of their names.
    .toSorted((a, b) => getPosition(longFiles, a) - getPosition(longFiles, b));
  if (files.length === 0) return;
  if (needsWeights && !summary.hasStep('weights')) {
    const startedAt = performance.now();
    const pulled = await pullWeights();
    summary.addStep('weights', { ...pulled, durationMs: performance.now() - startedAt });
  }
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
