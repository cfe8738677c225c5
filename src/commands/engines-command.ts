import { Argument, Command } from 'commander';
import { ServiceError } from '../core/error.ts';
import { systemClock } from '../lib/clock.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { createProgressPrinter, type ProgressStream } from '../weights/progress-printer.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import { formatJsonLine } from './format-json-line.ts';
import { formatTable } from './format-table.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';

export interface EnginesCommandDeps {
  /** @param flags Options of the command and its parent commands, by name. */
  readonly open: (flags: Readonly<Record<string, unknown>>) => RuntimeStore;
  readonly stdout: { write(text: string): unknown };
  /** Receives progress. Standard output contains results only. */
  readonly stderr: ProgressStream;
}

/**
 * Creates `parley engines`, which installs native libraries that are not part of the package: not every installation
 * needs them.
 */
export function createEnginesCommand(deps: EnginesCommandDeps): Command {
  return new Command('engines')
    .description('install and remove the engines of speech and small models')
    .addCommand(createListCommand(deps))
    .addCommand(createAddCommand(deps))
    .addCommand(createRemoveCommand(deps));
}

/** Creates the argument that names an engine. Only one engine exists. */
const createEngineArgument = (): Argument => new Argument('<engine>', 'engine to use').choices(['speech']);

function createListCommand({ open, stdout }: EnginesCommandDeps): Command {
  return new Command('list')
    .description('list the available engines and whether they are installed')
    .option('--json', 'print one JSON object with available and installed engines')
    .action(async ({ json }: { readonly json?: true }, command: Command) => {
      const store = open(command.optsWithGlobals());
      const installed = await store.list();
      const { runtime } = store;
      if (json) {
        const available = runtime ? { name: runtime.name, version: runtime.version, licence: runtime.licence } : null;
        return void stdout.write(formatJsonLine({ available, installed }));
      }
      const notInstalled = runtime && installed.every(({ isOutdated }) => isOutdated) ? [runtime] : [];
      if (!runtime) stdout.write('The speech engine does not support this platform.\n');
      if (installed.length + notInstalled.length === 0) return;
      stdout.write(
        formatTable([
          ['ENGINE', 'VERSION', 'INSTALLED', 'SIZE'],
          ...notInstalled.map(({ name, version }) => [name, version, 'no; run: parley engines add speech', '-']),
          ...installed.map(({ name, version, isOutdated, sizeBytes }) => [
            name,
            version,
            isOutdated ? 'yes, no longer used' : 'yes',
            formatBytes(sizeBytes),
          ]),
        ]),
      );
    });
}

const INTERRUPTED_MESSAGE = 'Interrupted. Nothing was installed.';

function createAddCommand({ open, stdout, stderr }: EnginesCommandDeps): Command {
  return new Command('add')
    .description('download an engine from the configured npm registry')
    .addArgument(createEngineArgument())
    .action(async (_name: string, _options: unknown, command: Command) => {
      const store = open(command.optsWithGlobals());
      const { runtime } = store;
      if (runtime) stderr.write(`${runtime.name} ${runtime.version}: licence ${runtime.licence}\n`);
      const printer = createProgressPrinter(stderr, systemClock);
      const add = runUntilInterrupted(INTERRUPTED_MESSAGE, (signal) =>
        store.install({ signal, onProgress: printer.report }),
      );
      stdout.write(`${await add.finally(() => printer.finishLine())}\n`);
      const unused = (await store.list()).filter(({ isOutdated }) => isOutdated);
      for (const { folder } of unused) stderr.write(`No longer used: ${folder}\n`);
    });
}

function createRemoveCommand({ open, stdout }: EnginesCommandDeps): Command {
  return new Command('remove')
    .alias('rm')
    .description('delete an engine; weights are kept')
    .addArgument(createEngineArgument())
    .action(async (name: string, _options: unknown, command: Command) => {
      const isRemoved = await open(command.optsWithGlobals()).remove();
      if (!isRemoved) throw new ServiceError('not-found', `The engine ${name} is not installed.`);
      stdout.write(`${name} deleted; a running server keeps using the loaded engine until it stops\n`);
    });
}
