import { resolve } from 'node:path';
import { Command } from 'commander';
import { formatTable } from '../../../commands/format-table.ts';
import { runUntilInterrupted } from '../../../commands/run-until-interrupted.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createProgressPrinter, type ProgressStream } from '../../../weights/progress-printer.ts';
import type { Fetch } from '../../../weights/pull-limits.ts';
import type { FetchWheel, WheelTarget } from '../../../weights/wheel.ts';
import { addWheels } from '../wheels/add-wheels.ts';
import type { PyodideDistribution } from '../wheels/pyodide-distribution.ts';
import { selectWheels } from '../wheels/select-wheels.ts';

export interface WheelsCommandDeps {
  /**
   * Returns the folder of wheels.
   * @param flags Options of the command and its parent commands, by name.
   */
  readonly getFolder: (flags: Readonly<Record<string, unknown>>) => string;
  readonly readDistribution: () => PyodideDistribution;
  readonly openIndex: (target: WheelTarget, signal: AbortSignal) => Promise<FetchWheel>;
  readonly fetch: Fetch;
  readonly stdout: { write(text: string): unknown };
  /** Receives progress. Standard output contains results only. */
  readonly stderr: ProgressStream;
}

/** Creates `parley wheels`, which adds Python packages for the programs of the code interpreter. */
export function createWheelsCommand(deps: WheelsCommandDeps): Command {
  return new Command('wheels')
    .description('add Python packages for programs that models write')
    .addCommand(createAddCommand(deps));
}

interface AddOptions {
  readonly from?: string;
  readonly dryRun?: true;
}

const INTERRUPTED_MESSAGE = 'Interrupted. Run the command again: finished wheels are kept.';

function createAddCommand({
  getFolder,
  readDistribution,
  openIndex,
  fetch,
  stdout,
  stderr,
}: WheelsCommandDeps): Command {
  return new Command('add')
    .description('add packages and the packages that they import, each verified by its SHA-256')
    .argument('<names...>', 'packages built for the interpreter, such as numpy; or NAME==VERSION of the package index')
    .option(
      '--from <source>',
      'folder, or URL of a folder, with the wheels of the interpreter (default: its own server)',
    )
    .option('--dry-run', 'only list the wheels and their hashes')
    .action(async (names: readonly string[], { from, dryRun }: AddOptions, command: Command) => {
      const distribution = readDistribution();
      const selection = selectWheels(names, distribution);
      if (dryRun) {
        const rows = selection.pinned.map(({ fileName, sha256 }) => [fileName, sha256]);
        return void stdout.write(formatTable([['WHEEL', 'SHA-256'], ...rows]));
      }
      const folder = getFolder(command.optsWithGlobals());
      const printer = createProgressPrinter(stderr, systemClock);
      const add = runUntilInterrupted(INTERRUPTED_MESSAGE, (signal) =>
        addWheels(selection, {
          folder,
          distribution,
          from: from === undefined || /^https?:/.test(from) ? from : resolve(from),
          openIndex: () => openIndex(distribution.target, signal),
          fetch,
          clock: systemClock,
          signal,
          report: printer.report,
        }),
      );
      const added = await add.finally(() => printer.finishLine());
      const rows = added.map(({ fileName, sha256, isOld }) => [fileName, isOld ? 'already there' : 'added', sha256]);
      stdout.write(formatTable([['WHEEL', 'STATE', 'SHA-256'], ...rows]));
      stderr.write(`The wheels are in ${folder}. A running server uses them after a restart.\n`);
    });
}
