import { once } from 'node:events';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { Command } from 'commander';
import type { LoadedConfig } from '../config/load-config.ts';
import { ServiceError } from '../core/error.ts';
import { systemClock } from '../lib/clock.ts';
import { createService } from '../service/service.ts';
import type { Service } from '../service/service.ts';
import { createPrimary } from '../service/workers/primary.ts';
import { createProgressPrinter } from '../weights/progress-printer.ts';
import type { ProgressStream } from '../weights/progress-printer.ts';
import { firstAnswer } from './first-answer.ts';
import { createModelsReload } from './reload-models.ts';
import { noteServer } from './server-note.ts';
import { tellStart } from './tell-start.ts';
import { abortOnSignals } from './until-interrupted.ts';

export interface ServeNeeds {
  readonly load: (flags: Readonly<Record<string, unknown>>) => LoadedConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: ProgressStream;
  readonly stderr: ProgressStream;
}

/** How often the configuration file is looked at, in ms: models that were added are there soon after. */
const CONFIG_LOOK_MS = 1_000;

/** `parley serve`: runs until SIGTERM or SIGINT; a second one ends it at once. */
export function serveCommand({ load, env, stdout }: ServeNeeds): Command {
  return new Command('serve')
    .description('run the service')
    .option('--no-first-answer', 'do not ask the model a first question')
    .action(async (_options: unknown, command: Command) => {
      const flags = command.optsWithGlobals<Readonly<Record<string, unknown>>>();
      const { config, file } = load(flags);
      const create = config.workers > 1 ? createPrimary : createService;
      const service = await create(config, { environment: env });
      const stop = new AbortController();
      const stopped = once(stop.signal, 'abort');
      abortOnSignals(stop, 'The service is stopping.');
      try {
        const addresses = await service.listen();
        const note = await noteServer(config.data, addresses[0]?.url ?? '');
        const stopWatching = followModels(service, file.path, stdout);
        // Before the address is told: whoever reads it may look for the key at once.
        const key = await service.firstKey();
        for (const { url } of addresses) stdout.write(`Listening on ${url}\n`);
        // Beside the model's download or start.
        const tools = service.prepareTools();
        await prepare(service, stop.signal, stdout);
        await tellStart({ service, tools, signal: stop.signal, stdout, addresses, key, keyFile: config.keyFile });
        if (!stop.signal.aborted) {
          const [first] = addresses;
          if (first && key && flags['firstAnswer'] !== false) {
            const release = service.holdLog();
            await firstAnswer({ url: first.url, key: key.secret, signal: stop.signal, stdout });
            release();
          }
          await stopped;
        }
        stdout.write('Stopping; a second signal ends at once.\n');
        stopWatching();
        note.remove();
      } finally {
        await service.close();
      }
    });
}

/** Downloads and loads with progress. A failure is told, and the service stays: other models may be there. */
async function prepare(service: Service, signal: AbortSignal, stdout: ProgressStream): Promise<void> {
  const printer = createProgressPrinter(stdout, systemClock);
  try {
    await service.prepare({ signal, onProgress: printer.report });
  } catch (error) {
    printer.end();
    if (!signal.aborted) stdout.write(`The default model is not there: ${ServiceError.from(error).message}\n`);
    return;
  }
  printer.end();
}

/** Models are read again on SIGHUP and when the file changes. */
function followModels(service: Service, file: string, stdout: ProgressStream): () => void {
  const readModels = createModelsReload({
    reload: () => service.reloadModels(file),
    readText: () => textOf(file),
    stdout,
  });
  const reload = (): void => void readModels();
  process.on('SIGHUP', reload);
  // The first call may only say that there is no file yet.
  watchFile(file, { interval: CONFIG_LOOK_MS, persistent: false }, (now, before) => {
    if (now.mtimeMs !== before.mtimeMs) reload();
  });
  return () => {
    unwatchFile(file);
    process.off('SIGHUP', reload);
  };
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // the reload says why
  }
}
