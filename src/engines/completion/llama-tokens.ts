import { z } from 'zod';
import { LLAMA_ASKED_AT_ONCE, UPSTREAM_ASK_MS } from '../../core/limits.ts';
import { ask } from '../remote/ask.ts';
import type { Connection } from '../remote/connection.ts';
import { createGate } from './gate.ts';
import type { TokenServer } from './token-server.ts';

const Tokens = z.object({ tokens: z.array(z.int().min(0)) });

/** Bytes where they are no whole characters. */
const Pieces = z.object({
  tokens: z.array(z.object({ id: z.int().min(0), piece: z.union([z.string(), z.array(z.int().min(0).max(255))]) })),
});

/**
 * `/tokenize` of llama.cpp's server. It takes texts and token ids in one list, so a whole prompt is one call; and it can
 * be told whether a text may become special tokens, though the tokens that a vocabulary's author defined are found either way.
 */
export function createLlamaTokens(connection: Connection): TokenServer {
  const gate = createGate(LLAMA_ASKED_AT_ONCE);
  const tokenize = (body: object, signal?: AbortSignal): Promise<unknown> =>
    gate(() => ask(connection, '/tokenize', { body, answerMs: UPSTREAM_ASK_MS, ...(signal ? { signal } : {}) }));

  const ids = (value: unknown): readonly number[] => {
    const parsed = Tokens.safeParse(value);
    if (!parsed.success) throw connection.faults.failed('told tokens in a form that is not known');
    return parsed.data.tokens;
  };

  return {
    async special(text, { begins = false } = {}) {
      return ids(await tokenize({ content: text, parse_special: true, add_special: begins }));
    },
    async plain(pieces, signal) {
      const content = pieces.flatMap((piece): readonly (string | number)[] =>
        piece.type === 'text' ? [piece.text] : piece.tokens,
      );
      return ids(await tokenize({ content, parse_special: false, add_special: false }, signal));
    },
    async texts(tokens) {
      if (tokens.length === 0) return [];
      const parsed = Pieces.safeParse(await tokenize({ content: tokens, with_pieces: true }));
      if (!parsed.success) throw connection.faults.failed('told the texts of tokens in a form that is not known');
      const decoder = new TextDecoder();
      return parsed.data.tokens.map(({ id, piece }) => ({
        id,
        text: typeof piece === 'string' ? piece : decoder.decode(Uint8Array.from(piece)),
      }));
    },
  };
}
