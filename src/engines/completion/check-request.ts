import { ServiceError } from '../../core/error.ts';
import type { EngineRequest } from '../engine.ts';

/** What the model and its server set as bounds. */
export interface RequestBounds {
  readonly choicesMax: number;
  readonly vocabularySize: number;
  readonly grammar: boolean;
}

/** @throws ServiceError for what a server would refuse late, or not at all. */
export function checkRequest(request: EngineRequest, { choicesMax, vocabularySize, grammar }: RequestBounds): void {
  const { choices, sampling, stop, phases } = request;
  if (choices > choicesMax) throw invalid(`n must be at most ${choicesMax} here, got ${choices}`, 'n');
  const outside = (token: number): boolean => token >= vocabularySize;
  const biased = [...(sampling.logitBias?.keys() ?? [])].find(outside);
  if (biased !== undefined)
    throw invalid(`logit_bias names token ${biased}, the vocabulary has ${vocabularySize}`, 'logit_bias');
  const stopping = stop.tokens.flat().find(outside);
  if (stopping !== undefined)
    throw invalid(`stop names token ${stopping}, the vocabulary has ${vocabularySize}`, 'stop');
  if (!grammar && phases.some((phase) => phase.grammar))
    throw new ServiceError('unsupported', 'The model of this request runs on a server that is given no grammars.');
}

/** wire.md 1.7 has the first sentence; both counts follow. @throws ServiceError where the prompt leaves no room. */
export function checkLength(promptTokens: number, contextTokens: number): void {
  if (promptTokens === 0) throw invalid('the prompt is empty', undefined);
  if (promptTokens < contextTokens) return;
  throw new ServiceError(
    'context-exceeded',
    `Range of input length should be [1, ${contextTokens - 1}] (the prompt has ${promptTokens} tokens, the model's context holds ${contextTokens})`,
    { param: 'messages', excess: { tokens: promptTokens, tokensMax: contextTokens - 1 } },
  );
}

const invalid = (message: string, param: string | undefined): ServiceError =>
  new ServiceError('invalid-request', message, { param });
