import type { CallOptions } from '../remote/connection.ts';
import type { EngineRequest } from '../engine.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { Counted } from './usage-count.ts';

/**
 * Counts an answered request with the server's own tokenizer. Never rejects: what cannot be counted is undefined.
 * @param said All that the model said, its thoughts and the arguments of its calls included. Markup around them is not
 * in it, so the count is a little low where it made calls.
 */
export type Recount = (
  said: string,
  lacks: { readonly prompt: boolean; readonly completion: boolean },
) => Promise<Counted>;

export function createRecount(tokenizer: Tokenizer, { input }: EngineRequest, options: CallOptions): Recount {
  const quietly = (count: Promise<number>): Promise<number | undefined> => count.catch(() => undefined);
  return async (said, lacks) => {
    const [promptTokens, completionTokens] = await Promise.all([
      lacks.prompt ? quietly(tokenizer.count(input, options)) : undefined,
      lacks.completion ? quietly(tokenizer.count(asText(said), options)) : undefined,
    ]);
    return { promptTokens, completionTokens };
  };
}

const asText = (text: string): EngineRequest['input'] => ({ type: 'segments', segments: [{ text, special: false }] });
