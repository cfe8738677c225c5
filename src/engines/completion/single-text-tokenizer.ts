import { z } from 'zod';
import { LRUCache } from 'lru-cache';
import {
  PROMPT_PIECE_CACHE_CHARS_MAX,
  PROMPT_PIECE_CACHE_ENTRIES_MAX,
  UPSTREAM_QUERY_MS,
  TOKENIZE_CALL_CONCURRENCY,
} from '../limits.ts';
import { requestParsedJson } from '../remote/request-json.ts';
import type { UpstreamClient } from '../remote/upstream-client.ts';
import { mapWithConcurrency } from '../../lib/map-with-concurrency.ts';
import type { ServerTokenizer } from './server-tokenizer.ts';

const Tokens = z.object({ tokens: z.array(z.int().min(0)) });

/** Response of `/detokenize`: `prompt` in vLLM, `text` in SGLang. */
const Text = z.union([
  z.object({ prompt: z.string() }).transform(({ prompt }) => prompt),
  z.object({ text: z.string() }).transform(({ text }) => text),
]);

/**
 * Creates a tokenizer that uses `/tokenize` and `/detokenize` of vLLM and SGLang. A call accepts one text, and any text may
 * become special tokens, so callers' texts must be cut inside them before. Tokens of repeated texts are cached.
 */
export function createSingleTextTokenizer(client: UpstreamClient, model: string): ServerTokenizer {
  const tokenCache = new LRUCache<string, readonly number[]>({
    max: PROMPT_PIECE_CACHE_ENTRIES_MAX,
    maxSize: PROMPT_PIECE_CACHE_CHARS_MAX,
  });
  const textCache = new LRUCache<string, string>({
    max: PROMPT_PIECE_CACHE_ENTRIES_MAX,
    maxSize: PROMPT_PIECE_CACHE_CHARS_MAX,
  });

  const requestParsed = async <Schema extends z.ZodType>(
    path: string,
    {
      schema,
      body,
      signal,
    }: { readonly schema: Schema; readonly body: object; readonly signal?: AbortSignal | undefined },
  ): Promise<z.output<Schema>> => {
    return await requestParsedJson(client, path, {
      schema,
      body: { model, ...body },
      responseMs: UPSTREAM_QUERY_MS,
      ...(signal ? { signal } : {}),
    });
  };

  const fetchTokens = async (text: string, signal?: AbortSignal): Promise<readonly number[]> => {
    const cached = tokenCache.get(text);
    if (cached) return cached;
    const body = { prompt: text, add_special_tokens: false };
    const { tokens } = await requestParsed('/tokenize', { schema: Tokens, body, signal });
    tokenCache.set(text, tokens, { size: Math.max(1, text.length) });
    return tokens;
  };

  const fetchText = async (id: number): Promise<string> => {
    const cached = textCache.get(String(id));
    if (cached !== undefined) return cached;
    const text = await requestParsed('/detokenize', {
      schema: Text,
      body: { tokens: [id], skip_special_tokens: false },
    });
    textCache.set(String(id), text, { size: Math.max(1, text.length) });
    return text;
  };

  return {
    async tokenizeSpecial(text, { addsBos = false } = {}) {
      if (!addsBos) return await fetchTokens(text);
      return (await requestParsed('/tokenize', { schema: Tokens, body: { prompt: text, add_special_tokens: true } }))
        .tokens;
    },
    async tokenizePieces(pieces, { signal } = {}) {
      const parts = await mapWithConcurrency(pieces, TOKENIZE_CALL_CONCURRENCY, async (piece) =>
        piece.type === 'text' ? await fetchTokens(piece.text, signal) : piece.tokens,
      );
      return parts.flat();
    },
    getTokenTexts: (tokens) =>
      mapWithConcurrency(tokens, TOKENIZE_CALL_CONCURRENCY, async (id) => ({ id, text: await fetchText(id) })),
  };
}
