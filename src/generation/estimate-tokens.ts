import type { EngineInput } from '../engines/engine.ts';
import type { Message, Tool } from '../core/message.ts';

/** UTF-8 bytes of one token: tokenizers of common models produce a token for about four bytes of text or code. */
const BYTES_PER_TOKEN = 4;

/** Scripts without spaces between words, whose characters are about a token each. */
const DENSE_CHARACTERS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/gu;

/** Characters that are read of a text. Megabytes would block the event loop for a second. */
const SAMPLE_CHARS_MAX = 262_144;

/** Tokens that a chat template adds to a message: its marks and its role. */
const MESSAGE_TOKENS = 4;

/** Tokens of an image whose size is unknown: about one of a million pixels in common vision models. */
const IMAGE_TOKENS = 1_024;

/**
 * Estimates the tokens of a text without its tokenizer: one for each Chinese, Japanese or Korean character, and one for
 * every four UTF-8 bytes of the rest, rounded up. Of a very long text, only its beginning is read.
 */
export function estimateTextTokens(text: string): number {
  if (text.length > SAMPLE_CHARS_MAX)
    return Math.ceil((estimateTextTokens(text.slice(0, SAMPLE_CHARS_MAX)) / SAMPLE_CHARS_MAX) * text.length);
  const denseCharacters = text.match(DENSE_CHARACTERS) ?? [];
  const denseBytes = Buffer.byteLength(denseCharacters.join(''));
  return denseCharacters.length + Math.ceil((Buffer.byteLength(text) - denseBytes) / BYTES_PER_TOKEN);
}

/** Estimates the prompt tokens of an input, for servers that do not count: messages, calls, tools and output format. */
export function estimateInputTokens(input: EngineInput): number {
  switch (input.type) {
    case 'tokens':
      return input.tokens.length;
    case 'segments':
      return estimateTextTokens(input.segments.map(({ text }) => text).join(''));
    case 'messages': {
      const { messages, toolUse, outputFormat, preserveThinking = false } = input;
      const schema = outputFormat?.type === 'json-schema' ? estimateTextTokens(toJson(outputFormat.schema)) : 0;
      return (
        sum(messages.map((message) => estimateMessageTokens(message, preserveThinking))) +
        sum((toolUse?.tools ?? []).map(estimateToolTokens)) +
        schema
      );
    }
  }
}

function estimateMessageTokens(
  { content, reasoning = '', toolCalls = [] }: Message,
  preserveThinking: boolean,
): number {
  const parts = content.map((part) => {
    if (part.type === 'image') return IMAGE_TOKENS;
    return part.type === 'text' ? estimateTextTokens(part.text) : 0;
  });
  const calls = toolCalls.map(({ name, arguments: text }) => MESSAGE_TOKENS + estimateTextTokens(`${name}${text}`));
  return MESSAGE_TOKENS + sum(parts) + sum(calls) + (preserveThinking ? estimateTextTokens(reasoning) : 0);
}

const estimateToolTokens = ({ name, description, parameters }: Tool): number =>
  MESSAGE_TOKENS + estimateTextTokens(`${name}${description}${toJson(parameters ?? {})}`);

const toJson = (value: unknown): string => JSON.stringify(value);

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
