import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Tokenize } from '../../../generation/tokenize.ts';

/** Counts the tokens of a text with the model's tokenizer, or estimates them when the engine exposes no tokenizer. */
export type TokenCounter = (text: string, context: RequestContext) => Promise<number>;

export function createTokenCounter(tokenize: Tokenize, model: string): TokenCounter {
  let isSupported = true;
  return async (text, context) => {
    if (!isSupported) return estimateTokens(text);
    try {
      const input = { type: 'text', text } as const;
      return (await tokenize({ model, input }, { interface: 'research' }, context)).tokens.length;
    } catch (error) {
      if (context.signal.aborted) throw error;
      const { kind, message } = ServiceError.from(error);
      isSupported = kind !== 'unsupported';
      if (isSupported) context.log.warn('token count of a report failed', { error: message });
      return estimateTokens(text);
    }
  };
}

/** Characters per token of large vocabularies: prose in Latin letters, and other scripts. */
const CHARS_PER_TOKEN = 4;
const NON_LATIN_CHARS_PER_TOKEN = 1.4;
/** Tokens of a citation mark such as `[[12]]`. */
const MARK_TOKENS = 4;

/** Estimates tokens without calling an engine. */
export function estimateTokens(text: string): number {
  const marks = text.match(/\[\[\d+\]\]/g)?.length ?? 0;
  const nonLatinChars = text.match(/[^\p{ASCII}\p{Script=Latin}\p{P}]/gu)?.length ?? 0;
  return (
    Math.ceil((text.length - nonLatinChars) / CHARS_PER_TOKEN + nonLatinChars / NON_LATIN_CHARS_PER_TOKEN) +
    MARK_TOKENS * marks
  );
}
