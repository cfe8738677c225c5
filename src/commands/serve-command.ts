import { once } from 'node:events';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { ServiceError } from '../core/error.ts';
import { systemClock } from '../lib/clock.ts';
import type { Capability } from '../service/capability.ts';
import { exitOnUnexpectedError } from '../service/last-resort.ts';
import { createService } from '../service/service.ts';
import type { Service } from '../service/service.ts';
import { createPrimary } from '../service/workers/primary.ts';
import { createProgressPrinter } from '../weights/progress-printer.ts';
import type { ProgressStream } from '../weights/progress-printer.ts';
import { askFirstQuestion } from './ask-first-question.ts';
import { createModelsReloader } from './models-reloader.ts';
import { registerServer } from './server-registration.ts';
import { offerSpeech } from './offer-speech.ts';
import type { QuestionTerminal } from './offer-speech.ts';
import type { SpeechSetup } from './speech-setup.ts';
import { printWelcome } from './print-welcome.ts';
import { abortOnSignals } from './run-until-interrupted.ts';

export interface ServeCommandDeps {
  readonly load: (flags: Readonly<Record<string, unknown>>) => LoadedConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly capabilities: readonly Capability[];
  readonly stdin: QuestionTerminal['stdin'];
  readonly stdout: ProgressStream;
  /** Opens what installs speech. */
  readonly openSpeechSetup: (config: Config) => Promise<SpeechSetup>;
}

/** Polling interval of the configuration file in ms: the delay until added models are available. */
const CONFIG_POLL_MS = 1_000;

/** Creates `parley serve`, which runs until SIGTERM or SIGINT. A second signal ends running requests with an error and exits. */
export function createServeCommand(deps: ServeCommandDeps): Command {
  const { load, env, capabilities, stdin, stdout, openSpeechSetup } = deps;
  return new Command('serve')
    .description('run the service')
    .option('--no-first-answer', 'do not send a first question to the model')
    .action(async (_options: unknown, command: Command) => {
      const flags = command.optsWithGlobals<Readonly<Record<string, unknown>>>();
      const { config, file } = load(flags);
      const create = config.workers > 1 ? createPrimary : createService;
      const service = await create(config, { environment: env, capabilities });
      const stop = new AbortController();
      const stopped = once(stop.signal, 'abort');
      abortOnSignals(stop, 'The service is stopping.', () => service.abortRequests());
      exitOnUnexpectedError({ service, log: service.sharing.log, target: process });
      try {
        const addresses = await service.listen();
        const registration = await registerServer(config.data, addresses[0]?.url ?? '');
        const stopWatching = watchModels(service, file.path, stdout);
        // Before printing the address: a script that waits for the address may read the key file at once.
        const key = await service.getFirstKey();
        for (const { url } of addresses) stdout.write(`Listening on ${url}\n`);
        // In parallel with the model's download or start.
        const tools = service.verifyTools();
        const { signal } = stop;
        const setup = config.engine.kind === 'scripted' ? undefined : await openSpeechSetup(config);
        const answer = setup
          ? offerSpeech({
              setup,
              isRequested: config.with.includes('speech'),
              declinedFile: join(config.data, 'speech-declined'),
              signal,
              stdin,
              stdout,
            })
          : Promise.resolve(false);
        // The question is open while the model is downloaded or started; progress is printed after the answer.
        await prepareDefaultModel(service, { signal, stdout, isTerminalFree: answer });
        if ((await answer) && setup) await installSpeech(setup, signal, stdout);
        await printWelcome({ service, tools, signal: stop.signal, stdout, addresses, key, keyFile: config.keyFile });
        if (!stop.signal.aborted) {
          const [first] = addresses;
          // The certificate of HTTPS is for other names than the local address.
          if (first?.url.startsWith('http:') && key && flags['firstAnswer'] !== false) {
            const resumeLog = service.pauseLog();
            await askFirstQuestion({ url: first.url, key: key.secret, signal: stop.signal, stdout });
            resumeLog();
          }
          await stopped;
        }
        stdout.write('Stopping. Send the signal again to exit at once.\n');
        stopWatching();
        registration.remove();
      } finally {
        await service.close();
      }
    });
}

interface PreparationOptions {
  readonly signal: AbortSignal;
  readonly stdout: ProgressStream;
  /** Settles when no question is open on the terminal. */
  readonly isTerminalFree: Promise<unknown>;
}

/** Installs speech. After a failure the service keeps running: the other models are available. */
async function installSpeech(setup: SpeechSetup, signal: AbortSignal, stdout: ProgressStream): Promise<void> {
  const printer = createProgressPrinter(stdout, systemClock);
  try {
    await setup.install({ signal, onProgress: printer.report });
    printer.finishLine();
    stdout.write('Speech recognition and embeddings are installed.\n');
  } catch (error) {
    printer.finishLine();
    if (!signal.aborted) stdout.write(`Speech was not installed: ${ServiceError.from(error).message}\n`);
  }
}

/** Downloads and loads the default model. After a failure the service keeps running: other models may be available. */
async function prepareDefaultModel(
  service: Pick<Service, 'prepareDefaultModel'>,
  { signal, stdout, isTerminalFree }: PreparationOptions,
): Promise<void> {
  const printer = createProgressPrinter(stdout, systemClock);
  let isFree = false;
  const freed = isTerminalFree.then(() => {
    isFree = true;
  });
  try {
    await service.prepareDefaultModel({ signal, onProgress: (progress) => isFree && printer.report(progress) });
    await freed;
  } catch (error) {
    await freed;
    printer.finishLine();
    if (!signal.aborted) stdout.write(`The default model is not available: ${ServiceError.from(error).message}\n`);
    return;
  }
  printer.finishLine();
}

/** Reloads the models on SIGHUP and when the file changes. @returns a function that stops watching. */
function watchModels(service: Service, file: string, stdout: ProgressStream): () => void {
  const reloadModels = createModelsReloader({
    reload: () => service.reloadModels(file),
    readText: () => readTextFile(file),
    stdout,
  });
  const reload = (): void => void reloadModels();
  process.on('SIGHUP', reload);
  // The first call may only report that the file does not exist.
  watchFile(file, { interval: CONFIG_POLL_MS, persistent: false }, (current, previous) => {
    if (current.mtimeMs !== previous.mtimeMs) reload();
  });
  return () => {
    unwatchFile(file);
    process.off('SIGHUP', reload);
  };
}

function readTextFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // the reload reports the reason
  }
}
