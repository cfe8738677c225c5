import { availableParallelism, totalmem } from 'node:os';
import { Command } from 'commander';
import type { Catalogue } from '../catalogue/model.ts';
import { recommendWeights, type WeightsAdvice, type MachineResources } from '../catalogue/recommend.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { formatJsonLine } from './format-json-line.ts';
import { formatTable } from './format-table.ts';

interface RecommendCommandDeps {
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<{ readonly catalogue: Catalogue }>;
  readonly stdout: { write(text: string): unknown };
  /** Default: the machine that runs the command. */
  readonly machine?: () => MachineResources;
}

/** Creates `parley models recommend`. */
export function createRecommendCommand({
  open,
  stdout,
  machine = readMachineResources,
}: RecommendCommandDeps): Command {
  return new Command('recommend')
    .description('show which weights fit this machine and how to configure them')
    .option('--json', 'print one JSON object with machine, recommended and weights')
    .action(async ({ json }: { readonly json?: true }, command: Command) => {
      const { catalogue } = await open(command.optsWithGlobals());
      const { memoryBytes, cores } = machine();
      const advice = recommendWeights(catalogue.listWeights(), { memoryBytes, cores });
      const best = advice.find(({ isRecommended }) => isRecommended)?.weights.id;
      if (json) {
        const weights = advice.map(encodeAdvice);
        return void stdout.write(
          formatJsonLine({ machine: { memoryBytes, cores }, recommended: best ?? null, weights }),
        );
      }
      stdout.write(`This machine: ${formatBytes(memoryBytes)} of memory, ${cores} cores\n\n`);
      stdout.write(
        formatTable([
          ['WEIGHTS', 'MEMORY', 'FITS', 'TOKENS/S (ABOUT)', 'LICENCE'],
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
        stdout.write(`\nRecommended. Add to the configuration file:\nweights: { default: ${best} }\n`);
    });
}

const encodeAdvice = ({ weights, neededBytes, isFitting, tokensPerSecond }: WeightsAdvice) => ({
  id: weights.id,
  licence: weights.licence,
  neededBytes,
  fits: isFitting,
  tokensPerSecond: Math.round(tokensPerSecond),
});

/** Reads cores and memory. In a container the memory is the limit of the container. */
function readMachineResources(): MachineResources {
  const limit = process.constrainedMemory();
  return { memoryBytes: Math.min(totalmem(), limit > 0 ? limit : Infinity), cores: availableParallelism() };
}
