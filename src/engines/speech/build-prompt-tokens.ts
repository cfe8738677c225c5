import type { Hotword } from '../../core/speech.ts';
import { CONTEXT_TOKENS_MAX, PROMPT_TOKENS_MAX } from './hotword-bias-constants.ts';

/** Maximum number of context characters, from its end, that are tokenized; a longer text never fits into the prompt. */
const CONTEXT_CHARS_MAX = 2_000;

export interface PromptInput {
  readonly context?: string | undefined;
  /** Heaviest first. */
  readonly hotwords: readonly Hotword[];
}

/**
 * Builds the prompt that Whisper takes for the preceding transcript: a glossary with as many hotwords as fit, then the
 * end of the context. Empty if there is neither.
 */
export function buildPromptTokens(
  { context = '', hotwords }: PromptInput,
  encode: (text: string) => readonly number[],
): readonly number[] {
  const end = context.slice(-CONTEXT_CHARS_MAX).trim();
  const contextTokensMax = hotwords.length > 0 ? CONTEXT_TOKENS_MAX : PROMPT_TOKENS_MAX;
  const contextTokens = end === '' ? [] : encode(` ${end}`).slice(-contextTokensMax);
  return [...buildGlossaryTokens(hotwords, encode, PROMPT_TOKENS_MAX - contextTokens.length), ...contextTokens];
}

function buildGlossaryTokens(
  hotwords: readonly Hotword[],
  encode: (text: string) => readonly number[],
  tokensMax: number,
): readonly number[] {
  const [first, ...others] = hotwords;
  if (!first) return [];
  const period = encode('.');
  let tokens = [...encode(` Glossary: ${first.text}`)];
  for (const { text } of others) {
    const next = encode(`, ${text}`);
    if (tokens.length + next.length + period.length > tokensMax) continue;
    tokens = [...tokens, ...next];
  }
  return [...tokens, ...period].slice(0, tokensMax);
}

/** Returns the hotwords for a language, heaviest first; hotwords of equal weight keep their order. */
export const selectHotwords = (hotwords: readonly Hotword[], language: string): readonly Hotword[] =>
  hotwords
    .filter((hotword) => hotword.text.trim() !== '' && (hotword.language ?? language) === language)
    .toSorted((a, b) => b.weight - a.weight);
