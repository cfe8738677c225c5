import { ServiceError } from '../core/error.ts';
import { PROMPT_CHARS_PER_TOKEN_MAX } from '../core/limits.ts';
import { formatPromptTooLarge } from '../core/generation-errors.ts';
import type { Message } from '../core/message.ts';
import type { GenerationRequest, TextPrompt } from '../core/request.ts';

/**
 * Rejects text that is far longer than the context, before it is rendered, sent to the engine and tokenized: that takes
 * seconds for megabytes of it.
 * @throws ServiceError `context-exceeded`.
 */
export function checkPromptLength(chars: number, contextTokens: number): void {
  const charsMax = contextTokens * PROMPT_CHARS_PER_TOKEN_MAX;
  if (chars <= charsMax) return;
  throw new ServiceError('context-exceeded', formatPromptTooLarge({ chars, charsMax, contextTokens }), {
    param: 'messages',
    // The number of tokens is unknown; this one is above the limit too.
    tokenOverflow: { tokens: Math.ceil(chars / PROMPT_CHARS_PER_TOKEN_MAX), tokensMax: contextTokens - 1 },
  });
}

/** Counts the characters of a request that become part of its prompt: of messages, tools, and a prompt to complete. */
export function countRequestChars({
  messages,
  prompt,
  toolUse,
}: Pick<GenerationRequest, 'messages' | 'prompt' | 'toolUse'>): number {
  let chars = countMessageChars(messages) + (prompt ? countPromptChars(prompt) : 0);
  for (const { description, parameters } of toolUse?.tools ?? [])
    chars += description.length + countStringChars(parameters);
  return chars;
}

function countPromptChars(prompt: TextPrompt): number {
  switch (prompt.type) {
    case 'text':
      return prompt.text.length;
    case 'fill':
      return prompt.prefix.length + prompt.suffix.length;
    case 'tokens':
      return 0;
  }
}

/** Counts the characters of the text and the calls in messages, and for the template's marks of each message those of one token. */
export function countMessageChars(messages: readonly Message[]): number {
  let chars = messages.length * PROMPT_CHARS_PER_TOKEN_MAX;
  for (const { content, reasoning, toolCalls = [] } of messages) {
    chars += reasoning?.length ?? 0;
    for (const call of toolCalls) chars += call.arguments.length;
    for (const part of content) if (part.type === 'text') chars += part.text.length;
  }
  return chars;
}

/** Counts the characters of all strings in a JSON value, which the limit on its levels keeps from being too deep. */
function countStringChars(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let chars = 0;
  for (const inner of Object.values(value)) chars += countStringChars(inner);
  return chars;
}
