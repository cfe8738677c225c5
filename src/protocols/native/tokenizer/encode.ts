import type { Tokenized } from '../../../generation/tokenize.ts';

/** wire.md 10, tokenizer. `prompt` is there for a conversation: what its messages became. */
export const encodeTokens = ({ tokens, prompt }: Tokenized, requestId: string): object => ({
  output: {
    token_ids: tokens.map(({ id }) => id),
    tokens: tokens.map(({ text }) => text),
    ...(prompt === undefined ? {} : { prompt }),
  },
  usage: { input_tokens: tokens.length },
  request_id: requestId,
});
