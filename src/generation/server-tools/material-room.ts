import { ANSWER_SHARE_DEFAULT, ANSWER_SHARE_MAX, TOLD_SOURCES_CHARS_MAX } from '../../core/limits.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { Examined } from './examine.ts';

/** Ours, on the safe side of what tokenizers make of prose in Latin letters, and of other writing. */
const CHARS_PER_TOKEN = 3;
const SIGNS_PER_TOKEN = 1;

/** Tokens of the words around what was found, and of what the template adds. */
const FRAME_TOKENS = 160;

/**
 * Characters of the prompt that there is room for besides the conversation, so that the answer still has its own.
 * @param sample What is to be told: writing without blanks takes more tokens.
 */
export function materialRoom(
  { maxTokens, maxTotalTokens, messages }: Pick<GenerationRequest, 'maxTokens' | 'maxTotalTokens' | 'messages'>,
  { contextTokens, promptTokens }: Pick<Examined, 'contextTokens' | 'promptTokens'>,
  sample: string,
): number {
  const wish = maxTotalTokens ?? maxTokens ?? contextTokens * ANSWER_SHARE_DEFAULT;
  const answer = Math.min(wish, contextTokens * ANSWER_SHARE_MAX);
  const told = promptTokens ?? tokensAtMost(JSON.stringify(messages));
  const tokens = Math.floor(contextTokens - answer - told - FRAME_TOKENS);
  return Math.max(0, Math.min(TOLD_SOURCES_CHARS_MAX, Math.floor(tokens * charsPerToken(sample))));
}

const tokensAtMost = (text: string): number => Math.ceil(text.length / charsPerToken(text));

/** Between the two, by how much of a text is no ASCII. */
function charsPerToken(text: string): number {
  const others = text.match(/[^\p{ASCII}\p{Script=Latin}]/gu)?.length ?? 0;
  const share = text.length === 0 ? 0 : Math.min(1, others / text.length);
  return CHARS_PER_TOKEN * (1 - share) + SIGNS_PER_TOKEN * share;
}
