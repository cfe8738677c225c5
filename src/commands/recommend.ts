import { availableParallelism, totalmem } from 'node:os';
import { Command } from 'commander';
import type { Catalogue } from '../catalogue/model.ts';
import type { Advice, Machine } from '../catalogue/recommend.ts';
import { recommendWeights } from '../catalogue/recommend.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { asJson } from './as-json.ts';
import { table } from './table.ts';

interface RecommendNeeds {
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<{ readonly catalogue: Catalogue }>;
  readonly stdout: { write(text: string): unknown };
  /** Default: the one that this runs on. */
  readonly machine?: () => Machine;
}

/** `parley models recommend`. */
export function recommendCommand({ open, stdout, machine = thisMachine }: RecommendNeeds): Command {
  return new Command('recommend')
    .description('say which weights fit this machine, and the configuration line that uses them')
    .option('--json', 'one JSON object with machine, recommended and weights')
    .action(async ({ json }: { readonly json?: true }, command: Command) => {
      const { catalogue } = await open(command.optsWithGlobals());
      const { memoryBytes, cores } = machine();
      const advice = recommendWeights(catalogue.listWeights(), { memoryBytes, cores });
      const best = advice.find(({ isRecommended }) => isRecommended)?.weights.id;
      if (json) {
        const weights = advice.map(describeAdvice);
        return void stdout.write(asJson({ machine: { memoryBytes, cores }, recommended: best ?? null, weights }));
      }
      stdout.write(`This machine: ${formatBytes(memoryBytes)} of memory, ${cores} cores\n\n`);
      stdout.write(
        table([
          ['WEIGHTS', 'NEEDS', 'FITS', 'TOKENS/S (ABOUT)', 'LICENCE'],
          ...advice.map(({ weights, neededBytes, isFitting, tokensPerSecond }) => [
            weights.id,
            formatBytes(neededBytes),
            isFitting ? 'yes' : 'no',
            String(Math.round(tokensPerSecond)),
            weights.licence,
          ]),
        ]),
      );
      if (best !== undefined)
        stdout.write(`\nRecommended; in the configuration file:\nweights: { default: ${best} }\n`);
    });
}

const describeAdvice = ({ weights, neededBytes, isFitting, tokensPerSecond }: Advice) => ({
  id: weights.id,
  licence: weights.licence,
  neededBytes,
  fits: isFitting,
  tokensPerSecond: Math.round(tokensPerSecond),
});

/** In a container the memory is what the container may have. */
function thisMachine(): Machine {
  const limit = process.constrainedMemory();
  return { memoryBytes: Math.min(totalmem(), limit > 0 ? limit : Infinity), cores: availableParallelism() };
}
