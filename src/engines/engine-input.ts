import { ServiceError } from '../core/error.ts';
import type { Message } from '../core/message.ts';
import { assert } from '../lib/assert.ts';
import type { EngineInput } from './engine.ts';

/** Returns the input of an engine that takes rendered prompts only. */
export function requirePromptInput(input: EngineInput): Exclude<EngineInput, { readonly type: 'messages' }> {
  assert(input.type !== 'messages', 'a prompt engine was given messages');
  return input;
}

/** Counts the images of an input. A rendered prompt contains none. */
export const countImages = (input: EngineInput): number =>
  input.type === 'messages' ? input.messages.flatMap(({ content }) => content).filter(isImage).length : 0;

const isImage = ({ type }: Message['content'][number]): boolean => type === 'image';

/** Creates the error of an engine that takes messages only. */
export const createPromptInputError = (): ServiceError =>
  new ServiceError('internal', 'a chat engine was given a prompt');
