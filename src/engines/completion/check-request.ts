import { ServiceError } from '../../core/error.ts';
import type { EngineRequest } from '../engine.ts';
import { createPromptTooLongError } from '../../core/generation-errors.ts';

/** Limits of the model and its server. */
export interface RequestBounds {
  readonly choicesMax: number;
  readonly vocabularySize: number;
  readonly grammar: boolean;
}

/** @throws ServiceError for values that the server would refuse late or not at all. */
export function checkRequest(request: EngineRequest, { choicesMax, vocabularySize, grammar }: RequestBounds): void {
  const { choices, sampling, stop, phases } = request;
  if (choices > choicesMax)
    throw createInvalidError(`n must be at most ${choicesMax} for this model, got ${choices}`, 'n');
  const isOutsideVocabulary = (token: number): boolean => token >= vocabularySize;
  const biasedToken = [...(sampling.logitBias?.keys() ?? [])].find(isOutsideVocabulary);
  if (biasedToken !== undefined)
    throw createInvalidError(
      `logit_bias names token ${biasedToken}, but token ids must be below ${vocabularySize}`,
      'logit_bias',
    );
  const stopToken = stop.tokens.flat().find(isOutsideVocabulary);
  if (stopToken !== undefined)
    throw createInvalidError(`stop names token ${stopToken}, but token ids must be below ${vocabularySize}`, 'stop');
  if (!grammar && phases.some((phase) => phase.grammar))
    throw new ServiceError('unsupported', 'The model of this request runs on a server without support for grammars.');
}

/**
 * The first part of the message is the text in docs/wire/dashscope-native.md#errors; the counts are added.
 * @throws ServiceError when the prompt is empty or fills the context.
 */
export function checkPromptLength(promptTokens: number, contextTokens: number): void {
  if (promptTokens === 0) throw createInvalidError('the prompt is empty', undefined);
  if (promptTokens < contextTokens) return;
  throw createPromptTooLongError(promptTokens, contextTokens);
}

const createInvalidError = (message: string, param: string | undefined): ServiceError =>
  new ServiceError('invalid-request', message, { param });
