import { Command } from 'commander';
import type { Weights } from '../core/weights.ts';
import { systemClock } from '../lib/clock.ts';
import { createProgressPrinter, type ProgressStream } from '../weights/progress-printer.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import { describeWeights } from './describe-weights.ts';
import { findWeights } from './find-weights.ts';
import type { ModelsCommandDeps } from './models-command-deps.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';

const INTERRUPTED_MESSAGE = 'Interrupted. Run the command again to continue the download.';

/** Creates `parley models pull`. */
export function createPullCommand({ open, stdout, stderr }: ModelsCommandDeps): Command {
  return new Command('pull')
    .description('download weights; continues an interrupted download')
    .argument('<names...>', 'models or weights, as `parley models list` shows them')
    .option('--trust', 'also download a file of the hub whose SHA-256 nobody states')
    .action(async (names: readonly string[], { trust }: { readonly trust?: true }, command: Command) => {
      const { catalogue, weights: store, runtimes } = await open(command.optsWithGlobals());
      const sets = new Map(names.map((name) => findWeights(name, catalogue)).map((weights) => [weights.id, weights]));
      for (const weights of sets.values()) {
        stderr.write(`${weights.id}: licence ${weights.licence}\n`);
        const printer = createProgressPrinter(stderr, systemClock);
        const pull = runUntilInterrupted(INTERRUPTED_MESSAGE, (signal) =>
          store.pull(weights, { signal, trust, onProgress: printer.report }),
        );
        stdout.write(`${await pull.finally(() => printer.finishLine())}\n`);
        await warnUnlessPinned(weights, store, stderr);
      }
      const isForRuntime = [...sets.values()].some(({ folder }) => folder !== undefined);
      if (isForRuntime && (await runtimes.locate()) === undefined)
        stderr.write('These weights need the speech engine, which is not installed. Run: parley engines add speech\n');
    });
}

/** Warns about a file of the hub whose hash the catalogue does not state, with the hash to pin. */
async function warnUnlessPinned(weights: Weights, store: WeightsStore, stderr: ProgressStream): Promise<void> {
  const { sha256, verified } = await describeWeights(weights, store);
  if (sha256 === null || verified === 'catalogue') return;
  const state =
    verified === 'none' ? 'NOT VERIFIED: nobody states its hash' : 'verified with the hash that its source announced';
  stderr.write(
    `WARNING: ${weights.id} is ${state}.\nPin this content in the configuration: sha256: ${formatHashes(sha256)}\n`,
  );
}

/** Formats one hash or the hashes of the parts as a YAML value. */
const formatHashes = (hashes: string | readonly string[]): string =>
  typeof hashes === 'string' ? hashes : `[${hashes.join(', ')}]`;
