import { ServiceError } from './error.ts';

// Errors of generations that several modules create with the same text.

/** Creates the error of an answer whose stream ended without an end event. */
export const createIncompleteAnswerError = (): ServiceError =>
  new ServiceError('engine-failed', 'The answer stopped before its end.');

/** Creates the error of an engine that broke its contract or failed. */
export const createEngineFailedError = (cause: unknown): ServiceError =>
  new ServiceError('engine-failed', ENGINE_FAILED_MESSAGE, { cause });

export const ENGINE_FAILED_MESSAGE = 'The engine failed on this request.';

/** Creates the error of an engine that starts again or was released. */
export const createEngineUnavailableError = (retryAfterSeconds: number): ServiceError =>
  new ServiceError('overloaded', 'The engine of this model is not available at present.', { retryAfterSeconds });

/** Creates the error of a full queue before a model. */
export const createQueueFullError = (retryAfterSeconds: number): ServiceError =>
  new ServiceError('overloaded', 'Too many requests are waiting for the model. Please try again later.', {
    retryAfterSeconds,
  });

/** Creates the error of a language that a recognition model does not know. */
export const createUnsupportedLanguageError = (language: string, param?: string): ServiceError =>
  new ServiceError('invalid-request', `The model does not support the language '${language}'.`, { param });

/** Creates the error of a recognition model that cannot translate speech to English. */
export const createNoTranslationError = (): ServiceError =>
  new ServiceError(
    'invalid-request',
    'The model cannot translate speech. Use audio/transcriptions, or a multilingual Whisper model.',
    { param: 'model' },
  );

export const createCancelledError = (): ServiceError => new ServiceError('cancelled', 'The request was cancelled.');

/** Creates the error of a prompt that leaves no token of the context for the answer. */
export const createPromptTooLongError = (promptTokens: number, contextTokens: number): ServiceError =>
  new ServiceError('context-exceeded', formatPromptTooLong(promptTokens, contextTokens), {
    param: 'messages',
    tokenOverflow: { tokens: promptTokens, tokensMax: contextTokens - 1 },
  });

/** Creates the error of a text that is empty or longer than a model accepts. */
export const createInputLengthError = (field: string, tokens: number | string, tokensMax: number): ServiceError =>
  new ServiceError('invalid-request', formatInputLength(field, tokens, tokensMax), { param: field });

// The first sentence of the next two is prescribed (docs/wire/dashscope-native.md#errors); the counts are added.

export const formatPromptTooLong = (promptTokens: number | string, contextTokens: number): string =>
  `${formatLengthRange(contextTokens - 1)} (the prompt has ${promptTokens} tokens, the model's context holds ${contextTokens})`;

/** Formats the message of a prompt that is refused for its characters, before its tokens are counted. */
export const formatPromptTooLarge = ({
  chars,
  charsMax,
  contextTokens,
}: {
  readonly chars: number;
  readonly charsMax: number;
  readonly contextTokens: number;
}): string =>
  `${formatLengthRange(contextTokens - 1)} (the prompt has ${chars} characters; for the model's context of ${contextTokens} tokens, at most ${charsMax} are read)`;

export const formatInputLength = (field: string, tokens: number | string, tokensMax: number): string =>
  `${formatLengthRange(tokensMax)} (${field}: ${tokens} tokens)`;

const formatLengthRange = (tokensMax: number): string => `Range of input length should be [1, ${tokensMax}]`;
