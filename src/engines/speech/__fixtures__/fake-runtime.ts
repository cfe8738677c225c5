import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestTokenizerFile } from './test-tokenizer-file.ts';

/**
 * Writes a fake of the ONNX runtime package, and model files for it: a Whisper model with one layer. Its text depends
 * on the task and the loudness of the audio; at maximum loudness, the process exits.
 *
 * The model nearly recognizes an "L" before the last word. Its past is the list of all tokens so far, so that a session
 * which loses tokens, or mixes them with those of another session, returns nonsense.
 */
export function writeFakeRuntime(folder: string): { readonly runtimeFolder: string; readonly weightsFolder: string } {
  const [runtimeFolder, weightsFolder] = [join(folder, 'runtime'), join(folder, 'weights')];
  for (const each of [runtimeFolder, weightsFolder]) mkdirSync(each, { recursive: true });
  writeFileSync(join(runtimeFolder, 'package.json'), JSON.stringify({ name: 'runtime', main: 'index.cjs' }));
  writeFileSync(join(runtimeFolder, 'index.cjs'), RUNTIME_SOURCE);
  const tokenizer = createTestTokenizerFile();
  writeFileSync(join(weightsFolder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(
    join(weightsFolder, 'config.json'),
    JSON.stringify({ suppress_ids: [], suppress_ids_begin: [], lang_ids: [258, 259, 260] }),
  );
  return { runtimeFolder, weightsFolder };
}

/** Source of the fake package. Token ids as in `createTestTokenizerFile`: 256 bytes, then the special tokens. */
const RUNTIME_SOURCE = `
const translate = 265;
const [end, noSpeech, noTimestamps, german] = [256, 263, 264, 259];
class Tensor {
  constructor(type, data, dims) { Object.assign(this, { type, data, dims }); }
}
const encoder = {
  inputNames: ['input_features'],
  async run({ input_features }) {
    const loudest = Math.max(...input_features.data.filter((_, i) => i % 3000 < 100));
    if (loudest > 1.45) process.exit(1);
    return { 'cross.0.key': new Tensor('float32', Float32Array.of(loudest), [1, 1, 1, 1]) };
  },
};
const decoder = {
  inputNames: ['input_ids', 'cross.0.key', 'past_key_values.0.decoder.key'],
  async run(inputs) {
    await new Promise((resolve) => setImmediate(resolve));
    const past = inputs['past_key_values.0.decoder.key'];
    const [sequences, count] = inputs.input_ids.dims;
    const results = Array.from({ length: sequences }, (_, at) => {
      const part = ({ data }) => Array.from(data.slice((at * data.length) / sequences, ((at + 1) * data.length) / sequences), Number);
      return decode([...part(past), ...part(inputs.input_ids)], count, inputs);
    });
    const join = (name, dims) => new Tensor('float32', Float32Array.from(results.flatMap((each) => Array.from(each[name]))), [sequences, ...dims]);
    return {
      logits: join('logits', [1, 266]),
      alignment: join('alignment', [1, count, 1500]),
      'present.0.decoder.key': join('tokens', [1, past.dims[2] + count, 1]),
    };
  },
};
function decode(tokens, count, inputs) {
    const loudness = inputs['cross.0.key'].data[0] > 0.9 ? 'loud' : 'quiet';
    const script = tokens.includes(translate) ? ' Translated: ' + loudness + '.' : ' It is ' + loudness + '.';
    const logits = new Float32Array(266).fill(-10);
    const begin = tokens.indexOf(noTimestamps);
    if (begin < 0) logits[german] = 0;
    else {
      const said = String.fromCharCode(...tokens.slice(begin + 1)).replaceAll('\\u0100', ' ');
      if (said.endsWith('is ')) logits['L'.charCodeAt(0)] = 8;
      logits[script.startsWith(said) ? Buffer.from(script)[said.length] ?? end : 63] = 10;
    }
    const alignment = Array.from({ length: count * 1500 }, (_, i) => (Math.floor((i % 1500) / 5) === tokens.length - begin ? 1 : 0));
    return { logits, alignment, tokens };
}
exports.Tensor = Tensor;
exports.InferenceSession = { create: async (file) => (file.endsWith('encoder.onnx') ? encoder : decoder) };
`;
