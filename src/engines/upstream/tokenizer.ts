import { z } from 'zod';
import { ServiceError } from '../../core/error.ts';
import { UPSTREAM_ASK_MS } from '../../core/limits.ts';
import type { EngineInput, TokenText } from '../engine.ts';
import { ask } from '../remote/ask.ts';
import type { CallOptions, Connection } from '../remote/connection.ts';
import { chatBody } from './request-body.ts';
import type { Server } from './servers.ts';

/** The server's own counting of tokens. @throws ServiceError of any upstream kind; `unsupported` for what it cannot count. */
export interface Tokenizer {
  count(input: EngineInput, options: CallOptions): Promise<number>;
  /** The tokens with their texts, where the server tells those. */
  tokens(input: EngineInput, options: CallOptions): Promise<readonly TokenText[]>;
}

export interface TokenizerNeeds {
  readonly connection: Connection;
  readonly server: Server;
  /** The model's name at the server. */
  readonly model: string;
}

const Id = z.int().min(0);
const Ids = z.object({ tokens: z.array(Id) });
const Prompt = z.object({ prompt: z.string() });
const Pieces = z.object({
  tokens: z.array(z.object({ id: Id, piece: z.union([z.string(), z.array(z.int().min(0).max(255))]) })),
});
const Texts = z.object({ text: z.array(z.string()) });

/** Undefined where the server counts no tokens. */
export function createTokenizer({ connection, server, model }: TokenizerNeeds): Tokenizer | undefined {
  const asked = async <Shape extends z.ZodType>(
    shape: Shape,
    path: string,
    body: object,
    options: CallOptions,
  ): Promise<z.output<Shape>> => {
    const value = await ask(connection, path, { answerMs: UPSTREAM_ASK_MS, ...options, body });
    const read = shape.safeParse(value);
    if (!read.success) throw connection.faults.failed(`answered ${path} with something else`);
    return read.data;
  };

  /** The text of a chat as the server's model reads it, its special tokens written out. */
  const promptOf = async (
    input: EngineInput,
    options: CallOptions,
  ): Promise<{ content: string; isPrompt: boolean }> => {
    if (input.type !== 'messages') return { content: plainText(input), isPrompt: false };
    if (input.messages.some(({ content }) => content.some(({ type }) => type === 'image'))) throw notCounted('images');
    const { prompt } = await asked(Prompt, '/apply-template', chatBody(input, { model, server }), options);
    return { content: prompt, isPrompt: true };
  };

  switch (server.tokenizer) {
    case undefined:
      return undefined;
    case 'prompt': {
      const ids = async (input: EngineInput, options: CallOptions, more: object): Promise<object> => {
        const { content, isPrompt } = await promptOf(input, options);
        return { content, add_special: isPrompt, parse_special: isPrompt, ...more };
      };
      return {
        async count(input, options) {
          return (await asked(Ids, '/tokenize', await ids(input, options, {}), options)).tokens.length;
        },
        async tokens(input, options) {
          const { tokens } = await asked(
            Pieces,
            '/tokenize',
            await ids(input, options, { with_pieces: true }),
            options,
          );
          return tokens.map(({ id, piece }) => ({
            id,
            // Bytes where a token is half a character.
            text: typeof piece === 'string' ? piece : new TextDecoder().decode(Uint8Array.from(piece)),
          }));
        },
      };
    }
    case 'chat': {
      const ids = async (input: EngineInput, options: CallOptions): Promise<readonly number[]> => {
        const body =
          input.type === 'messages'
            ? chatBody(input, { model, server })
            : { model, prompt: plainText(input), add_special_tokens: false };
        return (await asked(Ids, '/tokenize', body, options)).tokens;
      };
      return {
        count: async (input, options) => (await ids(input, options)).length,
        async tokens(input, options) {
          if (!server.detokenizesMany) throw notCounted('the texts of tokens');
          const tokens = await ids(input, options);
          const { text } = await asked(
            Texts,
            '/detokenize',
            { model, tokens: tokens.map((id) => [id]), skip_special_tokens: false },
            options,
          );
          if (text.length !== tokens.length) throw connection.faults.failed('told other tokens than it was asked for');
          return tokens.map((id, index) => ({ id, text: text[index] ?? '' }));
        },
      };
    }
  }
}

const notCounted = (what: string): ServiceError =>
  new ServiceError('unsupported', `The model of this request runs on a server that does not tell ${what}.`);

/** Text as it is: a prompt that we rendered is nothing for a server that renders itself. */
function plainText(input: Exclude<EngineInput, { type: 'messages' }>): string {
  if (input.type === 'segments' && input.segments.every(({ special }) => !special))
    return input.segments.map(({ text }) => text).join('');
  throw new ServiceError('internal', 'a chat engine was given a prompt');
}
