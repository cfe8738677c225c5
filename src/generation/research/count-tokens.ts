import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Tokenize } from '../tokenize.ts';

/** Tokens of a text by the model's own tokenizer, or estimated where nobody can count them. */
export type CountTokens = (text: string, context: RequestContext) => Promise<number>;

export function createCountTokens(tokenize: Tokenize, model: string): CountTokens {
  let isTelling = true;
  return async (text, context) => {
    if (!isTelling) return estimatedTokens(text);
    try {
      const input = { type: 'text', text } as const;
      return (await tokenize({ model, input }, { interface: 'research' }, context)).tokens.length;
    } catch (error) {
      if (context.signal.aborted) throw error;
      const { kind, message } = ServiceError.from(error);
      isTelling = kind !== 'unsupported';
      if (isTelling) context.log.warn('tokens of a report could not be counted', { error: message });
      return estimatedTokens(text);
    }
  };
}

/** Ours, as tokenizers of large vocabularies have it: of prose in Latin letters, and of other writing. */
const CHARS_PER_TOKEN = 4;
const SIGNS_PER_TOKEN = 1.4;
/** Of a mark such as `[[12]]`. */
const MARK_TOKENS = 4;

/** Without asking anybody. */
export function estimatedTokens(text: string): number {
  const marks = text.match(/\[\[\d+\]\]/g)?.length ?? 0;
  const others = text.match(/[^\p{ASCII}\p{Script=Latin}\p{P}]/gu)?.length ?? 0;
  return Math.ceil((text.length - others) / CHARS_PER_TOKEN + others / SIGNS_PER_TOKEN) + MARK_TOKENS * marks;
}
