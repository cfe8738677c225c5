import type { Hotword } from '../../core/speech.ts';
import { CONTEXT_TOKENS_MAX, PROMPT_TOKENS_MAX } from './bias-scale.ts';

/** Ours: characters of a context that are looked at, from its end. More are never tokens that fit. */
const CONTEXT_CHARS_MAX = 2_000;

export interface PromptWords {
  readonly context?: string | undefined;
  /** Most wanted first. */
  readonly hotwords: readonly Hotword[];
}

/**
 * What the model takes for its own last words: a glossary of the hotwords, as many as there is room for, then the end of
 * the context. Empty where there is neither.
 */
export function promptTokens(
  { context = '', hotwords }: PromptWords,
  encode: (text: string) => readonly number[],
): readonly number[] {
  const end = context.slice(-CONTEXT_CHARS_MAX).trim();
  const contextRoom = hotwords.length > 0 ? CONTEXT_TOKENS_MAX : PROMPT_TOKENS_MAX;
  const contextTokens = end === '' ? [] : encode(` ${end}`).slice(-contextRoom);
  return [...glossary(hotwords, encode, PROMPT_TOKENS_MAX - contextTokens.length), ...contextTokens];
}

function glossary(
  hotwords: readonly Hotword[],
  encode: (text: string) => readonly number[],
  room: number,
): readonly number[] {
  const [first, ...others] = hotwords;
  if (!first) return [];
  const period = encode('.');
  let tokens = [...encode(` Glossary: ${first.text}`)];
  for (const { text } of others) {
    const more = encode(`, ${text}`);
    if (tokens.length + more.length + period.length > room) continue;
    tokens = [...tokens, ...more];
  }
  return [...tokens, ...period].slice(0, room);
}

/** Those of this language, heaviest first; among equals the order of the list stays. */
export const hotwordsOf = (hotwords: readonly Hotword[], language: string): readonly Hotword[] =>
  hotwords
    .filter((hotword) => hotword.text.trim() !== '' && (hotword.language ?? language) === language)
    .toSorted((a, b) => b.weight - a.weight);
