import { Command } from 'commander';
import { expandCatalogue } from '../catalogue/expand-catalogue.ts';
import { getWeightsId } from '../catalogue/model.ts';
import { fitsMachine } from '../catalogue/recommend.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { assert } from '../lib/assert.ts';
import type { Weights } from '../core/weights.ts';
import { systemClock } from '../lib/clock.ts';
import { createProgressPrinter, type ProgressStream } from '../weights/progress-printer.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import { describeWeights } from './describe-weights.ts';
import { findWeights, hasWeightsName } from './find-weights.ts';
import type { ModelsCommandContext, ModelsCommandDeps } from './models-command-deps.ts';
import { readMachine } from './read-machine.ts';
import { describeModelFile, parseHubReference, resolveHubReference } from './resolve-hub-reference.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';

const INTERRUPTED_MESSAGE = 'Interrupted. Run the command again to continue the download.';

/** Creates `parley models pull`. */
export function createPullCommand({ open, stdout, stderr, machine = readMachine }: ModelsCommandDeps): Command {
  return new Command('pull')
    .description('download weights; continues an interrupted download')
    .argument('<names...>', 'models or weights, as `parley models list` shows them, or OWNER/REPO[:QUANT] of the hub')
    .option('--trust', 'also download a file of the hub whose SHA-256 nobody states')
    .action(async (names: readonly string[], { trust }: { readonly trust?: true }, command: Command) => {
      const context = await open(command.optsWithGlobals());
      const { weights: store, runtimes } = context;
      const sets = new Map<string, Weights>();
      for (const name of names) {
        const weights = await resolveWeights(name, context, { stderr, machine });
        sets.set(weights.id, weights);
      }
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

/** Finds weights by a name of the catalogue, or in a repository of the hub. */
async function resolveWeights(
  name: string,
  { catalogue, hub, served }: ModelsCommandContext,
  { stderr, machine }: Required<Pick<ModelsCommandDeps, 'stderr' | 'machine'>>,
): Promise<Weights> {
  const reference = hasWeightsName(name, catalogue) ? undefined : parseHubReference(name);
  if (!reference) {
    const weights = findWeights(name, catalogue);
    if (!catalogue.list().some((entry) => getWeightsId(entry) === weights.id))
      stderr.write(
        `No model runs ${weights.id} yet. To serve it: parley models add ${weights.id} --weights ${weights.id}\n`,
      );
    return weights;
  }
  const resources = await machine();
  const resolved = await resolveHubReference(reference, {
    hub,
    fits: (sizeBytes) => fitsMachine(sizeBytes, resources, served),
  });
  stderr.write(`${name}: ${describeModelFile(resolved)}\n`);
  const isServed = catalogue
    .listWeights()
    .find(({ sources }) =>
      sources.some((source) => source.type === 'hub' && `${source.repository}/${source.file}` === resolved.fields.hub),
    );
  if (!isServed) stderr.write(`To serve it: parley models add NAME --hub ${name}\n`);
  const [weights] = expandCatalogue(parseCatalogueAdditions({ models: { pulled: resolved.fields } })).weights;
  assert(weights, 'the entry has weights');
  return weights;
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
