import { ServiceError } from './error.ts';

// Errors of generations that several modules create with the same text.

/** Creates the error of an answer whose stream ended without an end event. */
export const createIncompleteAnswerError = (): ServiceError =>
  new ServiceError('engine-failed', 'The answer stopped before its end.');

/** Creates the error of an engine that broke its contract or failed. */
export const createEngineFailedError = (cause: unknown): ServiceError =>
  new ServiceError('engine-failed', 'The engine failed on this request.', { cause });

export const createCancelledError = (): ServiceError => new ServiceError('cancelled', 'The request was cancelled.');

/** Creates the error of a prompt that leaves no token of the context for the answer. Its first sentence is prescribed. */
export const createPromptTooLongError = (promptTokens: number, contextTokens: number): ServiceError =>
  new ServiceError(
    'context-exceeded',
    `Range of input length should be [1, ${contextTokens - 1}] (the prompt has ${promptTokens} tokens, the model's context holds ${contextTokens})`,
    { param: 'messages', tokenOverflow: { tokens: promptTokens, tokensMax: contextTokens - 1 } },
  );
