// Main file of the process that hears speech or makes vectors: one model, one run at a time, HTTP on a socket. Ends when its
// standard input closes, so that it never outlives the process that started it.
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { energyDetector } from './energy-detector.ts';
import type { Loads, ProcessOptions, Ready, VectorModel } from './protocol.ts';
import { createRecognizer } from './recognizer.ts';
import { loadRuntime } from './runtime.ts';
import type { Runtime } from './runtime.ts';
import { openSileroDetector } from './silero-detector.ts';
import { createSpeechServer } from './speech-server.ts';
import type { SpeechServerNeeds } from './speech-server.ts';
import { openTextVectors } from './text-vectors.ts';
import { openWhisperModel } from './whisper-model.ts';
import type { SpeechModel } from '../speech-engine.ts';

// What was said is nobody else's: files of this process are its owner's only, those of the native library too.
process.umask(0o077);

/** Parser of the options our own supervisor passes; they were checked by the configuration's schema. */
const options = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions;

type Work = Pick<SpeechServerNeeds, 'recognizer' | 'voice' | 'embed'>;

async function load(
  runtime: Runtime,
  loads: Loads,
  threads: number,
): Promise<{ readonly work: Work; readonly model: SpeechModel | VectorModel }> {
  if (loads.type === 'vectors') {
    const { dimensions, embed } = await openTextVectors(runtime, { ...loads, threads });
    return { work: { embed }, model: { dimensions } };
  }
  const recognizer = createRecognizer(await openWhisperModel(runtime, { ...loads, threads }));
  const voice = loads.voiceFile === undefined ? energyDetector : await openSileroDetector(runtime, loads.voiceFile);
  return { work: { recognizer, voice }, model: recognizer.model };
}

const { work, model } = await load(loadRuntime(options.runtimeFolder), options.loads, options.threads);
const server = createServer(createSpeechServer({ ...work, ...options, token: options.token }));
server.requestTimeout = 0;
server.keepAliveTimeout = 600_000;

const stop = (): void => {
  // A native library may not be unloaded while it runs; nothing of it needs to be saved.
  process.exit(0);
};
process.stdin.on('end', stop).on('error', stop).resume();
process.on('SIGTERM', stop);
// The terminal's Ctrl-C reaches the whole process group; our parent decides when this process goes.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);

const listening = (): void => {
  const ready: Ready<typeof model> = { ready: true, model };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
};
const tcp = /^127\.0\.0\.1:(\d+)$/.exec(options.socket);
if (tcp) server.listen(Number(tcp[1]), '127.0.0.1', listening);
else {
  rmSync(options.socket, { force: true });
  server.listen(options.socket, listening);
}
