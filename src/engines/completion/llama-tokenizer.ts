import { z } from 'zod';
import { LLAMA_TOKENIZE_CALL_CONCURRENCY, UPSTREAM_QUERY_MS } from '../limits.ts';
import { requestUpstreamJson } from '../remote/request-json.ts';
import type { UpstreamClient } from '../remote/upstream-client.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import type { ServerTokenizer } from './server-tokenizer.ts';

const Tokens = z.object({ tokens: z.array(z.int().min(0)) });

/** A token that is not whole characters has an array of bytes as its piece. */
const Pieces = z.object({
  tokens: z.array(z.object({ id: z.int().min(0), piece: z.union([z.string(), z.array(z.int().min(0).max(255))]) })),
});

/**
 * Creates a tokenizer that uses `/tokenize` of llama-server. It accepts texts and token ids in one list, so a whole prompt
 * is one call. A call can disable special tokens in text, but user-defined tokens of the vocabulary are found either way.
 */
export function createLlamaTokenizer(client: UpstreamClient): ServerTokenizer {
  const semaphore = createSemaphore({ permits: LLAMA_TOKENIZE_CALL_CONCURRENCY });
  const tokenize = (body: object, signal?: AbortSignal): Promise<unknown> =>
    semaphore.run(() =>
      requestUpstreamJson(client, '/tokenize', { body, responseMs: UPSTREAM_QUERY_MS, ...(signal ? { signal } : {}) }),
    );

  const parseTokenIds = (value: unknown): readonly number[] => {
    const parsed = Tokens.safeParse(value);
    if (!parsed.success) throw client.errors.createFailure('sent tokens in an unknown format');
    return parsed.data.tokens;
  };

  return {
    async tokenizeSpecial(text, { addsBos = false } = {}) {
      return parseTokenIds(await tokenize({ content: text, parse_special: true, add_special: addsBos }));
    },
    async tokenizePieces(pieces, { signal, parsesSpecial = false } = {}) {
      const content = pieces.flatMap((piece): readonly (string | number)[] =>
        piece.type === 'text' ? [piece.text] : piece.tokens,
      );
      return parseTokenIds(await tokenize({ content, parse_special: parsesSpecial, add_special: false }, signal));
    },
    async getTokenTexts(tokens) {
      if (tokens.length === 0) return [];
      const parsed = Pieces.safeParse(await tokenize({ content: tokens, with_pieces: true }));
      if (!parsed.success) throw client.errors.createFailure('sent the texts of tokens in an unknown format');
      const decoder = new TextDecoder();
      return parsed.data.tokens.map(({ id, piece }) => ({
        id,
        text: typeof piece === 'string' ? piece : decoder.decode(Uint8Array.from(piece)),
      }));
    },
  };
}
