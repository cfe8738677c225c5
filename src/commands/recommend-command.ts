import { Command } from 'commander';
import { recommendWeights, type MachineResources, type WeightsAdvice } from '../catalogue/recommend.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { formatJsonLine } from './format-json-line.ts';
import { formatTable } from './format-table.ts';
import type { ModelsCommandDeps } from './models-command-deps.ts';
import { parseTokens } from './parse-tokens.ts';
import { readMachine } from './read-machine.ts';

interface RecommendOptions {
  readonly json?: true;
  readonly contextTokens?: number;
}

/** Creates `parley models recommend`. */
export function createRecommendCommand({
  open,
  stdout,
  machine: read = readMachine,
}: Pick<ModelsCommandDeps, 'open' | 'stdout' | 'machine'>): Command {
  return new Command('recommend')
    .description('show which weights fit this machine with their context, and how to configure them')
    .option('--context-tokens <number>', 'context of each sequence (default: as configured)', parseTokens)
    .option('--json', 'print one JSON object with machine, context, recommended and weights')
    .action(async ({ json, contextTokens }: RecommendOptions, command: Command) => {
      const { catalogue, served: configured } = await open(command.optsWithGlobals());
      const machine = await read();
      const served = { ...configured, ...(contextTokens === undefined ? {} : { contextTokens }) };
      const advice = recommendWeights(catalogue.listWeights(), machine, served);
      const best = advice.find(({ isRecommended }) => isRecommended);
      if (json) {
        const weights = advice.map(encodeAdvice);
        return void stdout.write(
          formatJsonLine({ machine, context: served, recommended: best?.weights.id ?? null, weights }),
        );
      }
      stdout.write(`${describeMachine(machine)}\n`);
      stdout.write(`Context to be served: ${served.sequences} sequences of ${served.contextTokens} tokens\n\n`);
      stdout.write(
        formatTable([
          ['WEIGHTS', 'MEMORY', 'FITS', 'TOKENS/S (ABOUT)', 'TOOLS', 'LICENCE'],
          ...advice.map(({ weights, neededBytes, device, tokensPerSecond }) => [
            weights.id,
            formatBytes(neededBytes),
            device ?? 'no',
            String(Math.round(tokensPerSecond)),
            weights.hasTools ? 'yes' : 'no',
            weights.licence,
          ]),
        ]),
      );
      if (best) stdout.write(formatConfiguration(best));
    });
}

function describeMachine({ memoryBytes, cores, coreBytesPerSecond, gpus }: MachineResources): string {
  const names = gpus.map(({ name, memoryBytes: bytes }) => `${name} with ${formatBytes(bytes)}`);
  return [
    `This machine: ${formatBytes(memoryBytes)} of memory, ${cores} cores that read ${formatBytes(coreBytesPerSecond)}/s each`,
    names.length > 0 ? names.join(', ') : 'no GPU found',
  ].join('; ');
}

function formatConfiguration({ weights, device }: WeightsAdvice): string {
  const gpu = device === 'gpu' ? 'engine: { gpu: auto } # the GPU build of the engine: docs/guides/use-a-gpu.md\n' : '';
  return `\nRecommended. Add to the configuration file:\nweights: { default: ${weights.id} }\n${gpu}`;
}

const encodeAdvice = ({ weights, neededBytes, device, tokensPerSecond }: WeightsAdvice) => ({
  id: weights.id,
  licence: weights.licence,
  neededBytes,
  fits: device !== undefined,
  device: device ?? null,
  tokensPerSecond: Math.round(tokensPerSecond),
  tools: weights.hasTools ?? false,
});
