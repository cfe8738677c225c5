import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { modelsFolder } from '../models-folder.ts';

/** Of the runtime's package, where it was installed on demand. */
export const runtimeFolder =
  process.env.PARLEY_SPEECH_RUNTIME ??
  join(
    process.env.PARLEY_DATA ?? join(process.env.XDG_DATA_HOME ?? join(homedir(), '.local', 'share'), 'parley'),
    'engines/speech/node_modules/onnxruntime-node',
  );

/** A file or folder among the weights: in a folder of PARLEY_MODELS, else in the default models folder. */
export function weightsAt(name: string): string | undefined {
  const named = (process.env.PARLEY_MODELS ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...named, modelsFolder()].map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Why tests on these weights are skipped, or false when they and the runtime are there. */
export function lacksSpeech(...names: readonly string[]): string | false {
  if (!existsSync(runtimeFolder)) return 'the speech runtime is not on this machine (parley engines add speech)';
  const missing = names.find((name) => weightsAt(name) === undefined);
  return missing === undefined ? false : `the weights ${missing} are not on this machine (parley engines add speech)`;
}

/** Samples of a fixture: 16 kHz, 16 bit, mono. */
export function readSpeech(name: string): Float32Array {
  const file = readFileSync(new URL(`./__fixtures__/speech/${name}.wav`, import.meta.url));
  const from = file.indexOf('data') + 8;
  return Float32Array.from(
    { length: Math.floor((file.length - from) / 2) },
    (_, at) => file.readInt16LE(from + 2 * at) / 32_768,
  );
}
