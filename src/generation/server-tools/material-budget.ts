import { ANSWER_SHARE_DEFAULT, ANSWER_SHARE_MAX } from '../limits.ts';
import { PROMPT_SOURCES_CHARS_MAX } from './limits.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { RequestExamination } from './examine-request.ts';

/** Conservative characters per token: prose in Latin letters, and other scripts. */
const CHARS_PER_TOKEN = 3;
const NON_LATIN_CHARS_PER_TOKEN = 1;

/** Tokens of the instruction around the material and of the chat template. */
const FRAMING_TOKENS = 160;

/**
 * Returns the characters of material that fit into the prompt besides the conversation and the answer.
 * @param sample Text of the material, because scripts without spaces take more tokens.
 */
export function getMaterialCharsMax(
  { maxTokens, maxTotalTokens, messages }: Pick<GenerationRequest, 'maxTokens' | 'maxTotalTokens' | 'messages'>,
  { contextTokens, promptTokens }: Pick<RequestExamination, 'contextTokens' | 'promptTokens'>,
  sample: string,
): number {
  const requestedTokens = maxTotalTokens ?? maxTokens ?? contextTokens * ANSWER_SHARE_DEFAULT;
  const answerTokens = Math.min(requestedTokens, contextTokens * ANSWER_SHARE_MAX);
  const conversationTokens = promptTokens ?? estimateTokensMax(JSON.stringify(messages));
  const tokens = Math.floor(contextTokens - answerTokens - conversationTokens - FRAMING_TOKENS);
  return Math.max(0, Math.min(PROMPT_SOURCES_CHARS_MAX, Math.floor(tokens * estimateCharsPerToken(sample))));
}

const estimateTokensMax = (text: string): number => Math.ceil(text.length / estimateCharsPerToken(text));

/** Interpolates by the share of characters outside ASCII and Latin. */
function estimateCharsPerToken(text: string): number {
  const nonLatinChars = text.match(/[^\p{ASCII}\p{Script=Latin}]/gu)?.length ?? 0;
  const share = text.length === 0 ? 0 : Math.min(1, nonLatinChars / text.length);
  return CHARS_PER_TOKEN * (1 - share) + NON_LATIN_CHARS_PER_TOKEN * share;
}
