import { promptsOf } from './decode.ts';
import type { CompletionWire } from './schema.ts';

/** What every object and chunk of one answer repeats. */
export interface CompletionHead {
  /** The body's id is `cmpl-` and this, so that it can be found in the log. */
  readonly requestId: string;
  /** Unix seconds. */
  readonly created: number;
  /** As asked. */
  readonly model: string;
  /** What stands before the text of a choice: its prompt as the caller wrote it, where that was asked for. */
  readonly echoOf: (choice: number) => string;
}

export const completionId = ({ requestId }: Pick<CompletionHead, 'requestId'>): string => `cmpl-${requestId}`;

export function createHead(
  { model, prompt, echo, n }: CompletionWire,
  { requestId, created }: Pick<CompletionHead, 'requestId' | 'created'>,
): CompletionHead {
  const echoes =
    echo === true ? promptsOf(prompt).map(({ prompt: text }) => (typeof text === 'string' ? text : '')) : [];
  return { requestId, created, model, echoOf: (choice) => echoes[Math.floor(choice / (n ?? 1))] ?? '' };
}
