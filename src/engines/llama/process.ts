// Main file of the engine process: one model, one scheduler and an HTTP server on a socket. The process ends when its
// standard input closes, so it never outlives the process that started it.
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { systemClock } from '../../lib/clock.ts';
import { getOtherThreadsCpuMs } from '../../lib/cpu-time.ts';
import { DISK_RESERVE_BYTES } from '../../core/limits.ts';
import {
  EXPLICIT_CACHE_BYTES_MAX,
  EXPLICIT_CACHE_ENTRIES_MAX,
  EXPLICIT_CACHE_MS,
  EXPLICIT_CACHE_WORKSPACE_BYTES_MAX,
  PAUSED_STATES_BYTES_MAX,
} from './limits.ts';
import { createEmbed } from './embed.ts';
import { createEngineServer } from './engine-server.ts';
import { startBeats } from '../beats.ts';
import { createGrammarCompiler } from '../grammar-compiler.ts';
import { openNativeModel } from './native-model.ts';
import { createKvCache } from './kv-cache.ts';
import { createPausedStates } from './paused-states.ts';
import { createPrefixStore } from './prefix-store.ts';
import type { LlamaProcessArguments, ReadyMessage } from './protocol.ts';
import { createRank } from './rank.ts';
import { createScheduler } from './scheduler.ts';
import { createTaskQueue } from './task-queue.ts';

/**
 * Longest time, in ms, that a client may read nothing. Chosen by Parley to exceed the usual interruptions of a network.
 */
const READER_WAIT_MS_MAX = 30_000;

/**
 * Time, in ms, that running answers have to finish after SIGTERM. Chosen by Parley; the API process has already waited.
 */
const DRAIN_MS_MAX = 2_000;

/** Interval, in ms, for deleting expired states while no request arrives. Chosen by Parley. */
const SWEEP_MS = 30_000;

// Saved states contain prompts: only this user may read files of this process, including those of the native library.
process.umask(0o077);

/** Options from Parley's supervisor as JSON; the schema of the configuration has validated them. */
const options = JSON.parse(process.argv[2] ?? '{}') as LlamaProcessArguments;

const model = await openNativeModel(options);
startBeats();
// A process that was killed may have left its states in this folder.
const statesFolder = join(options.stateFolder, 'states');
rmSync(statesFolder, { recursive: true, force: true });
const prefixStore = createPrefixStore({
  folder: join(statesFolder, 'prefixes'),
  clock: systemClock,
  ttlMs: EXPLICIT_CACHE_MS,
  workspaceBytesMax: EXPLICIT_CACHE_WORKSPACE_BYTES_MAX,
  workspaceEntriesMax: EXPLICIT_CACHE_ENTRIES_MAX,
  totalBytesMax: EXPLICIT_CACHE_BYTES_MAX,
  freeBytesMin: DISK_RESERVE_BYTES,
  warn: (message) => process.stderr.write(`${message}\n`),
});
setInterval(() => prefixStore.removeExpired(), SWEEP_MS).unref();
const compiler = createGrammarCompiler({ queueWaitMsMax: options.queueWaitMsMax });
const cells = createKvCache(model, join(statesFolder, 'copy.state'));
const scheduler = createScheduler(model, {
  clock: systemClock,
  cpuMs: getOtherThreadsCpuMs,
  choicesMax: options.sequences,
  queueLengthMax: options.queueLengthMax,
  queueWaitMsMax: options.queueWaitMsMax,
  readerWaitMsMax: READER_WAIT_MS_MAX,
  workspaceShare: options.workspaceShare,
  cells,
  pausedStates: createPausedStates({
    model,
    cells,
    folder: join(statesFolder, 'paused'),
    bytesMax: PAUSED_STATES_BYTES_MAX,
    freeBytesMin: DISK_RESERVE_BYTES,
  }),
  prefixStore: prefixStore,
  draftTokens: options.draftTokens ?? 0,
  random: () => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0,
  compileGrammars: compiler.compile,
  killProcess() {
    process.stderr.write('a sampling thread does not return because of an ambiguous grammar\n');
    // `process.exit` would wait for that thread.
    process.kill(process.pid, 'SIGKILL');
  },
});
const sideWork = {
  between: scheduler.runBetweenTicks,
  taskQueue: createTaskQueue({ queueLengthMax: options.queueLengthMax, queueWaitMsMax: options.queueWaitMsMax }),
};
const server = createServer(
  createEngineServer({
    model,
    scheduler,
    embed: createEmbed(model, sideWork),
    rank: createRank(model, sideWork),
    token: options.token,
  }),
);
server.requestTimeout = 0;
server.keepAliveTimeout = 600_000;

let isStopping = false;
const stop = (): void => {
  if (isStopping) return;
  isStopping = true;
  server.close();
  rmSync(statesFolder, { recursive: true, force: true });
  // The native library must not be unloaded during an evaluation, and it has nothing to save.
  process.exit(0);
};
process.stdin.on('end', stop).on('error', stop).resume();
process.on('SIGTERM', () => {
  setTimeout(stop, DRAIN_MS_MAX);
  void scheduler.drain().then(stop);
});
// Ctrl-C in a terminal signals the whole process group; the parent process decides when the engine ends.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);

const reportReady = (): void => {
  const ready: ReadyMessage = { ready: true, model: model.loaded };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
};
const tcpAddress = /^127\.0\.0\.1:(\d+)$/.exec(options.socket);
if (tcpAddress) server.listen(Number(tcpAddress[1]), '127.0.0.1', reportReady);
else {
  rmSync(options.socket, { force: true });
  server.listen(options.socket, reportReady);
}
