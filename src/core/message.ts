import type { JsonSchema } from './grammar.ts';

/** A conversation as every protocol's decoder leaves it and every prompt renderer takes it. */
export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

export type Part =
  | { readonly type: 'text'; readonly text: string; readonly cache?: 'ephemeral' }
  /** `url` is http(s) or a data URL; only models that declare vision get one. */
  | { readonly type: 'image'; readonly url: string }
  /** Only on the way to `generation/with-documents.ts`, which puts its text there: no engine ever sees one. */
  | { readonly type: 'document'; readonly source: DocumentSource; readonly cache?: 'ephemeral' };

/** `isOptional`: where it cannot be read, the prompt says so and the request goes on. `base64` is of the whole file. */
export type DocumentSource =
  | { readonly type: 'file'; readonly id: string; readonly isOptional: boolean }
  | { readonly type: 'data'; readonly name: string; readonly base64: string };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it; not checked. */
  readonly arguments: string;
}

export interface Message {
  readonly role: Role;
  /** Always parts: a plain string is one text part, an absent content is none. */
  readonly content: readonly Part[];
  readonly name?: string;
  /** Earlier chain of thought (assistant only). */
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  /** Which call this answers (tool only). */
  readonly toolCallId?: string;
  /** The answer continues this message (last assistant message only). */
  readonly partial?: boolean;
}

/** A function that the model may call. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** Of its arguments. Undefined: it takes none, and a call says `{}`. */
  readonly parameters: JsonSchema | undefined;
  /** Where `parameters` stands in the request; refusals name it. */
  readonly field: string;
}

export const textOf = (message: Message): string =>
  message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
