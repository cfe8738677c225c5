// Main file of the child process for speech recognition or embeddings: one model, one model run at a time, HTTP on a
// socket.
// The process exits when its standard input closes, so that it never outlives its parent.
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { startBeats } from '../beats.ts';
import { energyDetector } from './energy-detector.ts';
import type { ModelFiles, OnnxProcessArguments, OnnxReadyMessage, EmbeddingModelInfo } from './protocol.ts';
import { createRecognizer } from './recognizer.ts';
import { loadOnnxRuntime, type OnnxRuntime } from './onnx-runtime.ts';
import { openSileroDetector } from './silero-detector.ts';
import { createSpeechServer, type SpeechServerDeps } from './speech-server.ts';
import { openBertModel } from './bert-model.ts';
import { openWhisperModel } from './whisper-model.ts';
import type { SpeechModel } from '../speech-engine.ts';

// Audio is confidential: only the owner may read files of this process, including those of the native library.
process.umask(0o077);

/** Arguments from Parley's supervisor. The configuration schema has validated them. */
const options = JSON.parse(process.argv[2] ?? '{}') as OnnxProcessArguments;

type CallHandlers = Pick<SpeechServerDeps, 'recognizer' | 'voice' | 'embed'>;

async function loadModel(
  runtime: OnnxRuntime,
  files: ModelFiles,
  threads: number,
): Promise<{ readonly handlers: CallHandlers; readonly model: SpeechModel | EmbeddingModelInfo }> {
  if (files.type === 'embedding') {
    const { dimensions, embed } = await openBertModel(runtime, { ...files, threads });
    return { handlers: { embed }, model: { dimensions } };
  }
  const recognizer = createRecognizer(await openWhisperModel(runtime, { ...files, threads }), files);
  const voice = files.voiceFile === undefined ? energyDetector : await openSileroDetector(runtime, files.voiceFile);
  return { handlers: { recognizer, voice }, model: recognizer.model };
}

const { handlers, model } = await loadModel(
  loadOnnxRuntime(options.runtimeFolder),
  options.modelFiles,
  options.threads,
);
startBeats();
const server = createServer(createSpeechServer({ ...handlers, ...options, token: options.token }));
server.requestTimeout = 0;
server.keepAliveTimeout = 600_000;

const stop = (): void => {
  // Skip a regular shutdown: the native library must not be unloaded during a run, and there is no state to save.
  process.exit(0);
};
process.stdin.on('end', stop).on('error', stop).resume();
process.on('SIGTERM', stop);
// A terminal sends Ctrl-C to the whole process group; the parent decides when this process exits.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);

const onListening = (): void => {
  const ready: OnnxReadyMessage<typeof model> = { ready: true, model };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
};
const tcp = /^127\.0\.0\.1:(\d+)$/.exec(options.socket);
if (tcp) server.listen(Number(tcp[1]), '127.0.0.1', onListening);
else {
  rmSync(options.socket, { force: true });
  server.listen(options.socket, onListening);
}
