import { Command } from 'commander';
import { ServiceError } from '../core/error.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { formatJsonLine } from './format-json-line.ts';
import { formatTable } from './format-table.ts';
import type { ModelsCommandDeps } from './models-command-deps.ts';

/** Creates `parley models search`. */
export function createSearchCommand({
  open,
  stdout,
  stderr,
}: Pick<ModelsCommandDeps, 'open' | 'stdout' | 'stderr'>): Command {
  return new Command('search')
    .description('search the catalogue and the model hub')
    .argument('<words...>', 'words of the name; all must match')
    .option('--json', 'print one JSON object with weights, repositories and problem')
    .action(async (words: readonly string[], { json }: { readonly json?: true }, command: Command) => {
      const { catalogue, hub } = await open(command.optsWithGlobals());
      const wanted = words.flatMap((word) => word.toLowerCase().split(/\s+/));
      const weights = catalogue
        .listWeights()
        .filter(({ id }) => wanted.every((word) => id.toLowerCase().includes(word)))
        .map(({ id, sizeBytes, licence, hasTools }) => ({
          id,
          sizeBytes: sizeBytes ?? null,
          licence,
          tools: hasTools ?? false,
        }));
      // The catalogue is useful without the hub.
      const { repositories, problem } = await hub.search(wanted.join(' ')).then(
        (hits) => ({ repositories: hits, problem: null }),
        (thrown: unknown) => ({ repositories: [], problem: ServiceError.from(thrown).message }),
      );
      if (json) return void stdout.write(formatJsonLine({ weights, repositories, problem }));
      if (weights.length > 0)
        stdout.write(
          formatTable([
            ['CATALOGUE', 'SIZE', 'TOOLS', 'LICENCE'],
            ...weights.map(({ id, sizeBytes, tools, licence }) => [
              id,
              sizeBytes === null ? '-' : formatBytes(sizeBytes),
              tools ? 'yes' : 'no',
              licence,
            ]),
          ]),
        );
      if (repositories.length > 0) {
        if (weights.length > 0) stdout.write('\n');
        stdout.write(
          formatTable([
            ['HUB', 'DOWNLOADS', 'LICENCE'],
            ...repositories.map(({ name, downloads, licence }) => [name, String(downloads ?? '-'), licence ?? '-']),
          ]),
        );
      }
      if (weights.length + repositories.length > 0) stderr.write('\nDownload one with: parley models pull NAME\n');
      else stderr.write('Nothing found.\n');
      if (problem !== null) stderr.write(`The hub was not searched: ${problem}\n`);
    });
}
