import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import { SMALL_VECTOR_TOKENS_MAX } from '../../core/limits.ts';
import type { EmbeddingEngine, EmbeddingInput } from '../engine.ts';
import { floatsOf } from './runtime.ts';
import type { Runtime } from './runtime.ts';
import { createWordPieces } from './word-pieces.ts';
import type { WordPiecesFile } from './word-pieces.ts';

/** A model that makes vectors, loaded. Calls run one after another: whose turn it is others decide. */
export interface TextVectors {
  readonly dimensions: number;
  readonly embed: EmbeddingEngine['embed'];
}

/**
 * Opens the files of a weights folder: `model.onnx`, a BERT without a head, and its `tokenizer.json`. A text's vector is the
 * mean of its tokens', of length 1. Texts are read one by one: in a batch the last bits of one would depend on the others.
 */
export async function openTextVectors(
  runtime: Runtime,
  { weightsFolder, threads }: { readonly weightsFolder: string; readonly threads: number },
): Promise<TextVectors> {
  /** Parser of a file that was checked against its sum when it was installed. */
  const file = JSON.parse(await readFile(join(weightsFolder, 'tokenizer.json'), 'utf8')) as WordPiecesFile;
  const pieces = createWordPieces(file);
  const frame = { begin: file.model.vocab['[CLS]'] ?? 0, end: file.model.vocab['[SEP]'] ?? 0 };
  const session = await runtime.open(join(weightsFolder, 'model.onnx'), { threads });

  const vectorOf = async (tokens: readonly number[]): Promise<number[]> => {
    const dims = [1, tokens.length];
    const inputs = {
      input_ids: runtime.whole(tokens, dims),
      attention_mask: runtime.whole(
        tokens.map(() => 1),
        dims,
      ),
      token_type_ids: runtime.whole(
        tokens.map(() => 0),
        dims,
      ),
    };
    const wanted = Object.fromEntries(Object.entries(inputs).filter(([name]) => session.inputNames.includes(name)));
    return mean(floatsOf(await session.run(wanted), 'last_hidden_state'), tokens.length);
  };

  const framed = ({ text, field }: EmbeddingInput): readonly number[] => {
    const tokens = pieces(text);
    const max = SMALL_VECTOR_TOKENS_MAX - 2;
    if (tokens.length > 0 && tokens.length <= max) return [frame.begin, ...tokens, frame.end];
    // wire.md 1.7 has the sentence.
    const message = `Range of input length should be [1, ${max}] (${field}: ${tokens.length} tokens)`;
    throw new ServiceError('invalid-request', message, { param: field });
  };

  const dimensions = (await vectorOf([frame.begin, frame.end])).length;
  return {
    dimensions,
    async embed({ inputs }, signal) {
      const texts = inputs.map(framed);
      const vectors: number[][] = [];
      for (const tokens of texts) {
        signal.throwIfAborted();
        vectors.push(await vectorOf(tokens));
      }
      return { vectors, tokens: texts.reduce((sum, tokens) => sum + tokens.length - 2, 0) };
    },
  };
}

/** Of rows one behind the other, brought to length 1. */
function mean(rows: Float32Array, count: number): number[] {
  const width = rows.length / count;
  const sums = Array.from({ length: width }, (_, at) => {
    let sum = 0;
    for (let row = 0; row < count; row++) sum += rows[row * width + at] ?? 0;
    return sum;
  });
  const length = Math.hypot(...sums);
  return sums.map((sum) => sum / length);
}
