import { findRequestProblem, type VocabularyBounds } from '../find-request-problem.ts';
import { ServiceError } from '../../core/error.ts';
import type { EngineRequest } from '../engine.ts';
import { createPromptTooLongError } from '../../core/generation-errors.ts';

/** Limits of the model and its server. */
export interface RequestBounds extends VocabularyBounds {
  readonly grammar: boolean;
}

/** @throws ServiceError for values that the server would refuse late or not at all. */
export function checkRequest(request: EngineRequest, { choicesMax, vocabularySize, grammar }: RequestBounds): void {
  const { choices, sampling, stop, phases } = request;
  const biasedTokens = [...(sampling.logitBias?.keys() ?? [])];
  const problem = findRequestProblem({ choices, biasedTokens, stop }, { choicesMax, vocabularySize });
  if (problem) throw createInvalidError(problem.message, problem.param);
  if (!grammar && phases.some((phase) => phase.grammar))
    throw new ServiceError('unsupported', 'The model of this request runs on a server without support for grammars.');
}

/** @throws ServiceError when the prompt is empty or fills the context. */
export function checkPromptLength(promptTokens: number, contextTokens: number): void {
  if (promptTokens === 0) throw createInvalidError('the prompt is empty', undefined);
  if (promptTokens < contextTokens) return;
  throw createPromptTooLongError(promptTokens, contextTokens);
}

const createInvalidError = (message: string, param: string | undefined): ServiceError =>
  new ServiceError('invalid-request', message, { param });
