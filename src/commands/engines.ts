import { Argument, Command } from 'commander';
import { ServiceError } from '../core/error.ts';
import { systemClock } from '../lib/clock.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import type { ProgressStream } from '../weights/progress-printer.ts';
import { createProgressPrinter } from '../weights/progress-printer.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import { asJson } from './as-json.ts';
import { table } from './table.ts';
import { untilInterrupted } from './until-interrupted.ts';

export interface EnginesCommandNeeds {
  /** @param flags Options of the command and of those above it, by name. */
  readonly open: (flags: Readonly<Record<string, unknown>>) => RuntimeStore;
  readonly stdout: { write(text: string): unknown };
  /** Progress goes here: standard output holds results only. */
  readonly stderr: ProgressStream;
}

/** `parley engines`: native libraries that are no part of the installation, because only some want what runs on them. */
export function enginesCommand(needs: EnginesCommandNeeds): Command {
  return new Command('engines')
    .description('install and remove what speech and small models run on')
    .addCommand(listCommand(needs))
    .addCommand(addCommand(needs))
    .addCommand(removeCommand(needs));
}

/** The one there is. */
const engine = (): Argument => new Argument('<engine>', 'which one').choices(['speech']);

function listCommand({ open, stdout }: EnginesCommandNeeds): Command {
  return new Command('list')
    .description('list the engines that can be installed, and whether they are')
    .option('--json', 'one JSON object with engines')
    .action(async ({ json }: { readonly json?: true }, command: Command) => {
      const store = open(command.optsWithGlobals());
      const installed = await store.list();
      const { runtime } = store;
      if (json) {
        const available = runtime ? { name: runtime.name, version: runtime.version, licence: runtime.licence } : null;
        return void stdout.write(asJson({ available, installed }));
      }
      const lacking = runtime && installed.every(({ isOld }) => isOld) ? [runtime] : [];
      if (!runtime) stdout.write('There is no speech runtime for this machine.\n');
      if (installed.length + lacking.length === 0) return;
      stdout.write(
        table([
          ['ENGINE', 'VERSION', 'HERE', 'SIZE'],
          ...lacking.map(({ name, version }) => [name, version, 'no: parley engines add speech', '-']),
          ...installed.map(({ name, version, isOld, sizeBytes }) => [
            name,
            version,
            isOld ? 'yes, not used any more' : 'yes',
            formatBytes(sizeBytes),
          ]),
        ]),
      );
    });
}

const INTERRUPTED = 'Interrupted. Nothing was installed.';

function addCommand({ open, stdout, stderr }: EnginesCommandNeeds): Command {
  return new Command('add')
    .description('download an engine from the registry that npm is configured with')
    .addArgument(engine())
    .action(async (_name: string, _options: unknown, command: Command) => {
      const store = open(command.optsWithGlobals());
      const { runtime } = store;
      if (runtime) stderr.write(`${runtime.name} ${runtime.version}: licence ${runtime.licence}\n`);
      const printer = createProgressPrinter(stderr, systemClock);
      const add = untilInterrupted(INTERRUPTED, (signal) => store.add({ signal, onProgress: printer.report }));
      stdout.write(`${await add.finally(() => printer.end())}\n`);
      const old = (await store.list()).filter(({ isOld }) => isOld);
      for (const { folder } of old) stderr.write(`Not used any more: ${folder}\n`);
    });
}

function removeCommand({ open, stdout }: EnginesCommandNeeds): Command {
  return new Command('remove')
    .alias('rm')
    .description('delete an engine; weights stay')
    .addArgument(engine())
    .action(async (name: string, _options: unknown, command: Command) => {
      const isGone = await open(command.optsWithGlobals()).remove();
      if (!isGone) throw new ServiceError('not-found', `${name} is not installed.`);
      stdout.write(`${name} is deleted; a server that runs uses what it has loaded until its engine stops\n`);
    });
}
