import { createBytePairTokenizer } from '../byte-pair-tokenizer.ts';
import type { DecoderBatch, DecoderSession } from '../whisper-model.ts';
import { createWhisperTokens } from '../whisper-tokens.ts';
import { createSequentialBatch } from './sequential-batch.ts';
import { TEST_SPECIAL_TOKENS, createTestTokenizerFile } from './test-tokenizer-file.ts';

export const testTokenizer = createBytePairTokenizer(createTestTokenizerFile());

const getSpecialId = (name: string): number => testTokenizer.specialTokens.get(`<|${name}|>`) ?? -1;

/** Tokens of a test model: `#` is suppressed; `^` and the end token are suppressed at the start of a text. */
export const TEST_TOKENS = createWhisperTokens(testTokenizer, {
  suppress_ids: [...testTokenizer.encode('#')],
  suppress_ids_begin: [...testTokenizer.encode('^'), getSpecialId('endoftext')],
  lang_ids: [getSpecialId('en')],
});

/**
 * Creates a session whose scores are given by `next` for the output so far: by character, `''` for the end token.
 * @param steps Gets the output after each step.
 */
export function createScriptedSession(
  next: (output: string) => Readonly<Record<string, number>>,
  output = '',
  steps: string[] = [],
): DecoderSession {
  const session: DecoderSession = {
    async step(given) {
      output += testTokenizer.decode(given);
      steps.push(output);
      const scores = new Float32Array(256 + TEST_SPECIAL_TOKENS.length).fill(-50);
      for (const [text, score] of Object.entries(next(output)))
        scores[text === '' ? TEST_TOKENS.endOfText : (testTokenizer.encode(text)[0] ?? -1)] = score;
      const row = Float32Array.of(output.length);
      return { scores, attention: () => row };
    },
    fork: () => createScriptedSession(next, output, steps),
    createBatch: (): DecoderBatch => createSequentialBatch(session),
  };
  return session;
}

/** Spells out a text character by character, then ends. */
export const spellOut =
  (text: string) =>
  (output: string): Readonly<Record<string, number>> => ({ [text[output.length] ?? '']: 10 });
