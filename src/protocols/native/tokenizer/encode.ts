import type { TokenizeResult } from '../../../generation/tokenize.ts';

/**
 * Encodes the response (docs/wire/dashscope-native.md#tokenizer); `prompt`, for messages only, is the rendered text.
 */
export const encodeTokenization = ({ tokens, prompt }: TokenizeResult, requestId: string): object => ({
  output: {
    token_ids: tokens.map(({ id }) => id),
    tokens: tokens.map(({ text }) => text),
    ...(prompt === undefined ? {} : { prompt }),
  },
  usage: { input_tokens: tokens.length },
  request_id: requestId,
});
