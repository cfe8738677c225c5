import type { ResolvedModel } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineRequest, EngineRun, LoadedModel } from '../engines/engine.ts';

/** The context of a deployment that asked for less than the engine has, on an engine that it shares. */
export interface DeploymentContextLimit {
  /**
   * Returns the tokens that a prompt leaves for reasoning and answer.
   * @throws ServiceError `context-exceeded` with both counts, as an engine would.
   */
  getTokensLeft(promptTokens: number): number;
}

/** Returns undefined when the engine's own context is the limit. */
export function findDeploymentContextLimit(
  { entry, deployment }: ResolvedModel,
  { contextTokens }: Pick<LoadedModel, 'contextTokens'>,
): DeploymentContextLimit | undefined {
  const contextTokensMax = deployment?.record.spec.maxContextLength;
  if (contextTokensMax === undefined || contextTokensMax >= contextTokens) return undefined;
  return {
    getTokensLeft(promptTokens) {
      if (promptTokens < contextTokensMax) return contextTokensMax - promptTokens;
      throw new ServiceError(
        'context-exceeded',
        `Range of input length should be [1, ${contextTokensMax - 1}] (the prompt has ${promptTokens} tokens, the context of deployment ${entry.name} holds ${contextTokensMax})`,
        { param: 'messages', tokenOverflow: { tokens: promptTokens, tokensMax: contextTokensMax - 1 } },
      );
    },
  };
}

/** Lowers the total token limit of a request to `tokensLeft`. */
export const limitRequest = (request: EngineRequest, tokensLeft: number | undefined): EngineRequest =>
  tokensLeft === undefined
    ? request
    : { ...request, maxTotalTokens: Math.min(request.maxTotalTokens ?? tokensLeft, tokensLeft) };

/** Lowers the reported token limit of a started run to `tokensLeft`. */
export const limitStart = (started: EngineRun, tokensLeft: number | undefined): EngineRun =>
  tokensLeft === undefined ? started : { ...started, maxTokens: Math.min(started.maxTokens ?? tokensLeft, tokensLeft) };
