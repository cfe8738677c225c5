import { z } from 'zod';
import {
  PROMPT_PIECES_KEPT_CHARS_MAX,
  PROMPT_PIECES_KEPT_MAX,
  UPSTREAM_ASK_MS,
  TOKEN_SERVER_CALLS_AT_ONCE,
} from '../../core/limits.ts';
import { createLru } from '../../lib/lru.ts';
import { ask } from '../remote/ask.ts';
import type { Connection } from '../remote/connection.ts';
import { someAtATime } from './some-at-a-time.ts';
import type { TokenServer } from './token-server.ts';

const Tokens = z.object({ tokens: z.array(z.int().min(0)) });

/** One server's word for it and the other's. */
const Text = z.union([
  z.object({ prompt: z.string() }).transform(({ prompt }) => prompt),
  z.object({ text: z.string() }).transform(({ text }) => text),
]);

/**
 * `/tokenize` and `/detokenize` as vLLM and SGLang have them. One text with each call, and any text may become special
 * tokens: what a caller wrote has to be cut before. The tokens of texts that come again and again are kept.
 */
export function createPieceTokens(connection: Connection, model: string): TokenServer {
  const kept = createLru<readonly number[]>({
    entriesMax: PROMPT_PIECES_KEPT_MAX,
    weightMax: PROMPT_PIECES_KEPT_CHARS_MAX,
  });
  const keptTexts = createLru<string>({ entriesMax: PROMPT_PIECES_KEPT_MAX, weightMax: PROMPT_PIECES_KEPT_CHARS_MAX });

  const asked = async <Schema extends z.ZodType>(
    path: string,
    {
      schema,
      body,
      signal,
    }: { readonly schema: Schema; readonly body: object; readonly signal?: AbortSignal | undefined },
  ): Promise<z.output<Schema>> => {
    const answer = await ask(connection, path, {
      body: { model, ...body },
      answerMs: UPSTREAM_ASK_MS,
      ...(signal ? { signal } : {}),
    });
    const parsed = schema.safeParse(answer);
    if (!parsed.success) throw connection.faults.failed(`answered ${path} in a form that is not known`);
    return parsed.data;
  };

  const tokensOf = async (text: string, signal?: AbortSignal): Promise<readonly number[]> => {
    const known = kept.get(text);
    if (known) return known;
    const body = { prompt: text, add_special_tokens: false };
    const { tokens } = await asked('/tokenize', { schema: Tokens, body, signal });
    kept.set(text, tokens, text.length);
    return tokens;
  };

  const textOf = async (id: number): Promise<string> => {
    const known = keptTexts.get(String(id));
    if (known !== undefined) return known;
    const text = await asked('/detokenize', { schema: Text, body: { tokens: [id], skip_special_tokens: false } });
    keptTexts.set(String(id), text, text.length);
    return text;
  };

  return {
    async special(text, { begins = false } = {}) {
      if (!begins) return await tokensOf(text);
      return (await asked('/tokenize', { schema: Tokens, body: { prompt: text, add_special_tokens: true } })).tokens;
    },
    async plain(pieces, signal) {
      const parts = await someAtATime(pieces, TOKEN_SERVER_CALLS_AT_ONCE, async (piece) =>
        piece.type === 'text' ? await tokensOf(piece.text, signal) : piece.tokens,
      );
      return parts.flat();
    },
    texts: (tokens) => someAtATime(tokens, TOKEN_SERVER_CALLS_AT_ONCE, async (id) => ({ id, text: await textOf(id) })),
  };
}
