import type { ResolvedModel } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineRequest, EngineStart, LoadedModel } from '../engines/engine.ts';

/** Less of a context than its engine has: that of a deployment that asked for less, on an engine that it shares. */
export interface NarrowedContext {
  /**
   * What is left for thought and answer behind a prompt.
   * @throws ServiceError `context-exceeded` with both counts, as an engine would.
   */
  roomFor(promptTokens: number): number;
}

/** Undefined where the engine's own context is the limit. */
export function narrowedContext(
  { entry, deployed }: ResolvedModel,
  { contextTokens }: Pick<LoadedModel, 'contextTokens'>,
): NarrowedContext | undefined {
  const most = deployed?.record.spec.maxContextLength;
  if (most === undefined || most >= contextTokens) return undefined;
  return {
    roomFor(promptTokens) {
      if (promptTokens < most) return most - promptTokens;
      throw new ServiceError(
        'context-exceeded',
        `Range of input length should be [1, ${most - 1}] (the prompt has ${promptTokens} tokens, the context of deployment ${entry.name} holds ${most})`,
        { param: 'messages', excess: { tokens: promptTokens, tokensMax: most - 1 } },
      );
    },
  };
}

/** A request that stays in so much room. */
export const within = (request: EngineRequest, room: number | undefined): EngineRequest =>
  room === undefined ? request : { ...request, maxTotalTokens: Math.min(request.maxTotalTokens ?? room, room) };

/** What was started, with the limit that is in force. */
export const startedWithin = (started: EngineStart, room: number | undefined): EngineStart =>
  room === undefined ? started : { ...started, maxTokens: Math.min(started.maxTokens ?? room, room) };
