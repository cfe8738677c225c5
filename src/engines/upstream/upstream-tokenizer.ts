import { countImages, createPromptInputError } from '../engine-input.ts';
import { z } from 'zod';
import { ServiceError } from '../../core/error.ts';
import type { Message } from '../../core/message.ts';
import { UPSTREAM_QUERY_MS } from '../limits.ts';
import type { EngineInput, TokenText } from '../engine.ts';
import { requestParsedJson } from '../remote/request-json.ts';
import type { UpstreamCallOptions, UpstreamClient } from '../remote/upstream-client.ts';
import { encodeChatBody } from './request-body.ts';
import type { ServerProfile } from './server-profiles.ts';

/** Counts tokens at the server. @throws ServiceError of any upstream kind; `unsupported` for input it cannot count. */
export interface UpstreamTokenizer {
  countTokens(input: EngineInput, options: UpstreamCallOptions): Promise<number>;
  /**
   * Counts the tokens of a chat that do not stand for its images: the texts around them, tokenized as the server does it for
   * an answer. Absent if the server reports the tokens of images.
   * @throws ServiceError `unsupported` if the texts around the images cannot be told apart.
   */
  countTextTokens?(input: EngineInput, options: UpstreamCallOptions): Promise<number>;
  /** Returns the tokens with their texts, if the server reports these. */
  tokenize(input: EngineInput, options: UpstreamCallOptions): Promise<readonly TokenText[]>;
}

export interface UpstreamTokenizerDeps {
  readonly client: UpstreamClient;
  readonly server: ServerProfile;
  /** Model name at the server. */
  readonly model: string;
}

const Id = z.int().min(0);
const Ids = z.object({ tokens: z.array(Id) });
const Prompt = z.object({ prompt: z.string() });
const Pieces = z.object({
  tokens: z.array(z.object({ id: Id, piece: z.union([z.string(), z.array(z.int().min(0).max(255))]) })),
});
const Texts = z.object({ text: z.array(z.string()) });

type ChatInput = Extract<EngineInput, { type: 'messages' }>;

/** The mark that llama-server renders for an image. Since 2026, each start of a server has its own. */
const IMAGE_MARKER = /<__media(?:_\w+)?__>/;

/** Returns a message that renders the same, with images without content. */
const emptyImages = (message: Message): Message => ({
  ...message,
  content: message.content.map((part) => (part.type === 'image' ? { ...part, url: 'data:image/png;base64,' } : part)),
});

/** Returns undefined for a server that counts no tokens. */
export function createUpstreamTokenizer({
  client,
  server,
  model,
}: UpstreamTokenizerDeps): UpstreamTokenizer | undefined {
  const requestParsed = async <Schema extends z.ZodType>(
    schema: Schema,
    path: string,
    body: object,
    options: UpstreamCallOptions,
  ): Promise<z.output<Schema>> => {
    return await requestParsedJson(client, path, { schema, responseMs: UPSTREAM_QUERY_MS, ...options, body });
  };

  /** Renders a chat with the server's template, special tokens included as text. */
  const renderPrompt = async (
    input: EngineInput,
    options: UpstreamCallOptions,
  ): Promise<{ content: string; isPrompt: boolean }> => {
    if (input.type !== 'messages') return { content: getPlainText(input), isPrompt: false };
    if (countImages(input) > 0) throw createUnsupportedError('images');
    return { content: await renderChat(input, options), isPrompt: true };
  };

  const renderChat = async (input: ChatInput, options: UpstreamCallOptions): Promise<string> =>
    (await requestParsed(Prompt, '/apply-template', encodeChatBody(input, { model, server }), options)).prompt;

  switch (server.tokenizer) {
    case undefined:
      return undefined;
    case 'prompt': {
      const createBody = async (
        input: EngineInput,
        options: UpstreamCallOptions,
        extraFields: object,
      ): Promise<object> => {
        const { content, isPrompt } = await renderPrompt(input, options);
        return { content, add_special: isPrompt, parse_special: isPrompt, ...extraFields };
      };
      return {
        async countTokens(input, options) {
          return (await requestParsed(Ids, '/tokenize', await createBody(input, options, {}), options)).tokens.length;
        },
        async countTextTokens(input, options) {
          if (input.type !== 'messages') throw createPromptInputError();
          const prompt = await renderChat({ ...input, messages: input.messages.map(emptyImages) }, options);
          const content = prompt.split(IMAGE_MARKER);
          if (content.length !== countImages(input) + 1) throw createUnsupportedError('images');
          // A list of texts is tokenized text by text, as are the texts around images in an answer.
          const body = { content, add_special: true, parse_special: true };
          return (await requestParsed(Ids, '/tokenize', body, options)).tokens.length;
        },
        async tokenize(input, options) {
          const { tokens } = await requestParsed(
            Pieces,
            '/tokenize',
            await createBody(input, options, { with_pieces: true }),
            options,
          );
          return tokens.map(({ id, piece }) => ({
            id,
            // An array of bytes if the token is a part of a character.
            text: typeof piece === 'string' ? piece : new TextDecoder().decode(Uint8Array.from(piece)),
          }));
        },
      };
    }
    case 'chat': {
      const fetchTokenIds = async (input: EngineInput, options: UpstreamCallOptions): Promise<readonly number[]> => {
        const body =
          input.type === 'messages'
            ? encodeChatBody(input, { model, server })
            : { model, prompt: getPlainText(input), add_special_tokens: false };
        return (await requestParsed(Ids, '/tokenize', body, options)).tokens;
      };
      return {
        countTokens: async (input, options) => (await fetchTokenIds(input, options)).length,
        async tokenize(input, options) {
          if (!server.canDetokenizeBatch) throw createUnsupportedError('the texts of tokens');
          const tokens = await fetchTokenIds(input, options);
          const { text } = await requestParsed(
            Texts,
            '/detokenize',
            { model, tokens: tokens.map((id) => [id]), skip_special_tokens: false },
            options,
          );
          if (text.length !== tokens.length)
            throw client.errors.createFailure('sent another number of token texts than requested');
          return tokens.map((id, index) => ({ id, text: text[index] ?? '' }));
        },
      };
    }
  }
}

const createUnsupportedError = (what: string): ServiceError =>
  new ServiceError('unsupported', `The model of this request runs on a server that does not report ${what}.`);

/** Returns the plain text of an input: a server with its own templates accepts no rendered prompt. */
function getPlainText(input: Exclude<EngineInput, { type: 'messages' }>): string {
  if (input.type === 'segments' && input.segments.every(({ special }) => !special))
    return input.segments.map(({ text }) => text).join('');
  throw createPromptInputError();
}
