// Main file of the engine process: one model, one scheduler, HTTP on a socket. Ends when its standard input closes, so
// that it never outlives the process that started it.
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { systemClock } from '../../lib/clock.ts';
import { otherThreadsCpuMs } from '../../lib/cpu-time.ts';
import {
  DISK_RESERVE_BYTES,
  EXPLICIT_CACHE_BYTES_MAX,
  EXPLICIT_CACHE_ENTRIES_MAX,
  EXPLICIT_CACHE_MS,
  EXPLICIT_CACHE_WORKSPACE_BYTES_MAX,
} from '../../core/limits.ts';
import { createEmbed } from './embed.ts';
import { createEngineServer } from './engine-server.ts';
import { createGrammarCompiler } from '../grammar-compiler.ts';
import { openNativeModel } from './native-model.ts';
import { createPrefixStore } from './prefix-store.ts';
import type { ProcessOptions, Ready } from './protocol.ts';
import { createRank } from './rank.ts';
import { createScheduler } from './scheduler.ts';
import { createTurns } from './turns.ts';

/** Ours: how long a reader may take nothing, in ms. Above a stalled network's usual hiccups. */
const READER_WAIT_MS_MAX = 30_000;

/** Ours: on SIGTERM running answers may end within this, in ms. The API process has waited for its own before. */
const DRAIN_MS_MAX = 2_000;

/** Ours: how often, in ms, files of expired states are looked for while nobody asks for one. */
const SWEEP_MS = 30_000;

// Saved states tell what was said: files of this process are its owner's only, those of the native library too.
process.umask(0o077);

/** Parser of the options our own supervisor passes; they were checked by the configuration's schema. */
const options = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions;

const model = await openNativeModel(options);
// A process that was killed in this folder before us has left its states there.
const states = join(options.stateFolder, 'states');
rmSync(states, { recursive: true, force: true });
const prefixes = createPrefixStore({
  folder: join(states, 'prefixes'),
  clock: systemClock,
  keepMs: EXPLICIT_CACHE_MS,
  workspaceBytesMax: EXPLICIT_CACHE_WORKSPACE_BYTES_MAX,
  workspaceEntriesMax: EXPLICIT_CACHE_ENTRIES_MAX,
  totalBytesMax: EXPLICIT_CACHE_BYTES_MAX,
  reserveBytes: DISK_RESERVE_BYTES,
  warn: (message) => process.stderr.write(`${message}\n`),
});
setInterval(() => prefixes.sweep(), SWEEP_MS).unref();
const compiler = createGrammarCompiler({ waitMsMax: options.queueWaitMsMax });
const scheduler = createScheduler(model, {
  clock: systemClock,
  cpuMs: otherThreadsCpuMs,
  queuePlacesMax: options.queuePlacesMax,
  queueWaitMsMax: options.queueWaitMsMax,
  readerWaitMsMax: READER_WAIT_MS_MAX,
  stateFile: join(states, 'copy.state'),
  prefixes,
  random: () => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0,
  compile: compiler.compile,
  end() {
    process.stderr.write('a thread is stuck under an ambiguous grammar\n');
    // An exit would wait for it.
    process.kill(process.pid, 'SIGKILL');
  },
});
const aside = {
  between: scheduler.between,
  turns: createTurns({ placesMax: options.queuePlacesMax, waitMsMax: options.queueWaitMsMax }),
};
const server = createServer(
  createEngineServer({
    model,
    scheduler,
    embed: createEmbed(model, aside),
    rank: createRank(model, aside),
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
  rmSync(states, { recursive: true, force: true });
  // A native library in mid-evaluation may not be unloaded; nothing of it needs to be saved.
  process.exit(0);
};
process.stdin.on('end', stop).on('error', stop).resume();
process.on('SIGTERM', () => {
  setTimeout(stop, DRAIN_MS_MAX);
  void scheduler.drain().then(stop);
});
// The terminal's Ctrl-C reaches the whole process group; our parent decides when the engine goes.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);

const listening = (): void => {
  const ready: Ready = { ready: true, model: model.loaded };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
};
const tcp = /^127\.0\.0\.1:(\d+)$/.exec(options.socket);
if (tcp) server.listen(Number(tcp[1]), '127.0.0.1', listening);
else {
  rmSync(options.socket, { force: true });
  server.listen(options.socket, listening);
}
