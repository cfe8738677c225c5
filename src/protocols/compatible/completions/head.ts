import { listPrompts } from './decode.ts';
import type { CompletionWire } from './schema.ts';

/** Fields that every object and chunk of one response repeats. */
export interface CompletionHead {
  /** The id of the response object is `cmpl-` plus this id, so that the log line can be found. */
  readonly requestId: string;
  /** Unix seconds. */
  readonly created: number;
  /** Model name in the request. */
  readonly model: string;
  /**
   * Returns the text that precedes a choice: its prompt if the request sets `echo`, otherwise ''. Undefined for a prompt
   * of token ids, whose text comes with the events.
   */
  readonly getEcho: (choice: number) => string | undefined;
}

export const formatCompletionId = ({ requestId }: Pick<CompletionHead, 'requestId'>): string => `cmpl-${requestId}`;

export function createCompletionHead(
  { model, prompt, echo, n }: CompletionWire,
  { requestId, created }: Pick<CompletionHead, 'requestId' | 'created'>,
): CompletionHead {
  const prompts = listPrompts(prompt);
  const getEcho = (choice: number): string | undefined => {
    const text = echo === true ? prompts[Math.floor(choice / (n ?? 1))]?.prompt : '';
    return typeof text === 'string' ? text : undefined;
  };
  return { requestId, created, model, getEcho };
}
