import { countImages } from '../engine-input.ts';
import { createEventFormatError, createNoJsonError } from '../remote/stream-errors.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineRequest } from '../engine.ts';
import { findUpstreamError } from '../remote/upstream-error-details.ts';
import type { ResponseParser } from '../remote/response-parser.ts';
import type { UpstreamErrorFactory } from '../remote/upstream-error-factory.ts';
import { createChoiceParser } from './choice-parser.ts';
import { Chunk } from './chunk.ts';
import { parsePlainChoice } from './parse-plain-choice.ts';
import type { UsageRecount } from './usage-recount.ts';
import { createUsageCounter } from './usage-counter.ts';

export interface ChatResponseParserDeps {
  readonly newCallId: () => string;
  readonly errors: UpstreamErrorFactory;
  /** The server sends a usage with each choice. */
  readonly hasUsagePerChoice?: boolean;
  /** Counts tokens that the server does not report; absent if nothing can count them. */
  readonly countMissing?: UsageRecount | undefined;
}

/** Creates a parser for a chat-completions response; it is complete when every choice has a finish reason. */
export function createChatResponseParser(
  request: EngineRequest,
  deps: ChatResponseParserDeps,
): ResponseParser<EngineEvent> {
  const { newCallId, errors, countMissing } = deps;
  const { input } = request;
  const reportedErrors: UpstreamErrorFactory = {
    ...errors,
    createFailure: (what) => errors.createFailure(what, 'answered'),
  };
  const toolUse = input.type === 'messages' ? input.toolUse : undefined;
  const choices = Array.from({ length: request.choices }, (_, choice) =>
    createChoiceParser({
      choice,
      topLogprobs: request.logprobs?.top,
      stops: request.stop.strings,
      stopTokens: request.stop.tokens.flat(),
      isSingleCall: toolUse !== undefined && !toolUse.isParallel,
      newCallId,
      errors: reportedErrors,
    }),
  );
  const usageCounter = createUsageCounter({
    isPerChoice: deps.hasUsagePerChoice === true && request.choices > 1,
    hasImages: countImages(input) > 0,
  });
  let outputTokensMin = 0;
  let outputText = '';
  let emitCurrent: (event: EngineEvent) => void = () => undefined;
  let trailingEvents: Promise<readonly EngineEvent[]> | undefined;

  const handleEvent = (event: EngineEvent): void => {
    if ('tokens' in event) outputTokensMin += event.tokens;
    // The name and each piece of arguments are at least one token.
    else if (event.type === 'tool-call' || event.type === 'tool-arguments') outputTokensMin++;
    if (countMissing && 'text' in event) outputText += event.text;
    emitCurrent(event);
  };

  const getChoice = (index: number | null | undefined): ReturnType<typeof createChoiceParser> => {
    const choice = choices[index ?? 0];
    if (!choice) throw reportedErrors.createFailure(`sent choice ${index} of ${request.choices}`);
    return choice;
  };

  const isComplete = (): boolean => choices.every((choice) => choice.isFinished());

  return {
    push(json, emit) {
      emitCurrent = emit;
      const parsedJson = parseChunkJson(json, errors);
      const plainChoice = parsePlainChoice(parsedJson);
      if (plainChoice) return getChoice(plainChoice.index).push(plainChoice, handleEvent);
      const chunk = validateChunk(parsedJson, errors);
      if (chunk.usage) usageCounter.addReported(chunk.usage);
      for (const wireChoice of chunk.choices ?? []) getChoice(wireChoice.index).push(wireChoice, handleEvent);
    },
    isComplete,
    isOverrun: () => isComplete() && choices.some((choice) => choice.hasContinued()),
    end(emit) {
      if (!isComplete()) {
        // A server that ignores `n` sends one choice, and that one completely.
        const endErrors = choices.some((choice) => choice.isFinished()) ? reportedErrors : errors;
        throw endErrors.createFailure('ended its answer before every choice had a finish reason');
      }
      const missing = usageCounter.findMissing(outputTokensMin);
      if (countMissing && (missing.prompt || missing.completion || missing.images)) {
        trailingEvents = countMissing(outputText, missing).then((recounted) => [
          { type: 'end', usage: usageCounter.getUsage(outputTokensMin, recounted) },
        ]);
      } else emit({ type: 'end', usage: usageCounter.getUsage(outputTokensMin) });
    },
    readTrailingEvents: () => trailingEvents,
  };
}

function parseChunkJson(json: string, errors: UpstreamErrorFactory): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw createNoJsonError(errors);
  }
}

/** Error causes name the paths of invalid fields, never values, which may be text of the answer. */
function validateChunk(value: unknown, errors: UpstreamErrorFactory): Chunk {
  const chunk = Chunk.safeParse(value);
  // One pass for valid events; only invalid ones are searched for an error.
  if (!chunk.success || chunk.data.error || chunk.data.object === 'error') {
    const error = findUpstreamError(value);
    if (error) throw errors.createFromStatus(error.status, error);
  }
  if (chunk.success) return chunk.data;
  throw createEventFormatError(errors, chunk.error);
}
