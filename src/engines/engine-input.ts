import { ServiceError } from '../core/error.ts';
import { assert } from '../lib/assert.ts';
import type { EngineInput } from './engine.ts';

/** Returns the input of an engine that takes rendered prompts only. */
export function requirePromptInput(input: EngineInput): Exclude<EngineInput, { readonly type: 'messages' }> {
  assert(input.type !== 'messages', 'a prompt engine was given messages');
  return input;
}

/** Creates the error of an engine that takes messages only. */
export const createPromptInputError = (): ServiceError =>
  new ServiceError('internal', 'a chat engine was given a prompt');
