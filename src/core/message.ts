import type { JsonSchema } from './grammar.ts';

/** Author of a message. Every protocol decodes conversations into these types, and prompts are rendered from them. */
export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

export type ContentPart =
  | { readonly type: 'text'; readonly text: string; readonly cache?: 'ephemeral' }
  /** `url` is an http(s) or data URL. Only models with vision receive images. */
  | { readonly type: 'image'; readonly url: string }
  /** `generation/with-documents.ts` replaces it by the document's text; engines never receive it. */
  | { readonly type: 'document'; readonly source: DocumentSource; readonly cache?: 'ephemeral' };

/**
 * `isOptional`: when the file cannot be read, the prompt says so and the request continues. `base64`: the whole file.
 */
export type DocumentSource =
  | { readonly type: 'file'; readonly id: string; readonly isOptional: boolean }
  | { readonly type: 'data'; readonly name: string; readonly base64: string };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it, not validated. */
  readonly arguments: string;
}

export interface Message {
  readonly role: Role;
  /** A plain string becomes one text part; absent content becomes an empty list. */
  readonly content: readonly ContentPart[];
  readonly name?: string;
  /** Earlier reasoning of the model (assistant only). */
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  /** Id of the call that this message answers (tool only). */
  readonly toolCallId?: string;
  /** The model continues this message (last message only, from the assistant). */
  readonly partial?: boolean;
}

/** A function that the model may call. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. Undefined: the tool takes none, and a call has the arguments `{}`. */
  readonly parameters: JsonSchema | undefined;
  /** Path of `parameters` in the request, for error messages. */
  readonly field: string;
}

export const getMessageText = (message: Message): string =>
  message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
