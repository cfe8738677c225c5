import { createInputLengthError } from '../../core/generation-errors.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MINILM_TOKENS_MAX } from '../limits.ts';
import type { EmbeddingEngine, EmbeddingInput } from '../engine.ts';
import { getFloatOutput, type OnnxRuntime } from './onnx-runtime.ts';
import { createWordPieceTokenizer, type WordPieceTokenizerFile } from './word-piece-tokenizer.ts';

/** A loaded embedding model. Callers must not run two calls at once. */
export interface BertModel {
  readonly dimensions: number;
  readonly embed: EmbeddingEngine['embed'];
}

/**
 * Opens a weights folder: `model.onnx`, a BERT encoder, and its `tokenizer.json`. The vector of a text is the mean of
 * its tokens' vectors, normalized to length 1. Texts run one by one: in a batch, the last bits of a vector would depend
 * on the other texts.
 */
export async function openBertModel(
  runtime: OnnxRuntime,
  { weightsFolder, threads }: { readonly weightsFolder: string; readonly threads: number },
): Promise<BertModel> {
  // The checksum of the file was verified at its installation.
  const file = JSON.parse(await readFile(join(weightsFolder, 'tokenizer.json'), 'utf8')) as WordPieceTokenizerFile;
  const tokenize = createWordPieceTokenizer(file);
  const specialTokens = { start: file.model.vocab['[CLS]'] ?? 0, end: file.model.vocab['[SEP]'] ?? 0 };
  const session = await runtime.openSession(join(weightsFolder, 'model.onnx'), { threads });

  const computeVector = async (tokens: readonly number[]): Promise<number[]> => {
    const dims = [1, tokens.length];
    const inputs = {
      input_ids: runtime.createIntTensor(tokens, dims),
      attention_mask: runtime.createIntTensor(
        tokens.map(() => 1),
        dims,
      ),
      token_type_ids: runtime.createIntTensor(
        tokens.map(() => 0),
        dims,
      ),
    };
    const usedInputs = Object.fromEntries(Object.entries(inputs).filter(([name]) => session.inputNames.includes(name)));
    return computeUnitMean(getFloatOutput(await session.run(usedInputs), 'last_hidden_state'), tokens.length);
  };

  const toModelInput = ({ text, field }: EmbeddingInput): readonly number[] => {
    const tokens = tokenize(text);
    const max = MINILM_TOKENS_MAX - 2;
    if (tokens.length > 0 && tokens.length <= max) return [specialTokens.start, ...tokens, specialTokens.end];
    throw createInputLengthError(field, tokens.length, max);
  };

  const dimensions = (await computeVector([specialTokens.start, specialTokens.end])).length;
  return {
    dimensions,
    async embed({ inputs }, signal) {
      const tokenLists = inputs.map(toModelInput);
      const vectors: number[][] = [];
      for (const tokens of tokenLists) {
        signal.throwIfAborted();
        vectors.push(await computeVector(tokens));
      }
      return { vectors, tokens: tokenLists.reduce((sum, tokens) => sum + tokens.length - 2, 0) };
    },
  };
}

/** Averages `count` consecutive rows, and normalizes the mean to length 1. */
function computeUnitMean(rows: Float32Array, count: number): number[] {
  const width = rows.length / count;
  const sums = Array.from({ length: width }, (_, at) => {
    let sum = 0;
    for (let row = 0; row < count; row++) sum += rows[row * width + at] ?? 0;
    return sum;
  });
  const length = Math.hypot(...sums);
  return sums.map((sum) => sum / length);
}
