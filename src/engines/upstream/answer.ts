import type { EngineEvent } from '../../core/event.ts';
import type { EngineRequest } from '../engine.ts';
import { errorIn } from '../remote/error-words.ts';
import type { Answer } from '../remote/event-stream.ts';
import type { Faults } from '../remote/faults.ts';
import { createChoice } from './choice.ts';
import { Chunk } from './chunk.ts';
import { plainChoice } from './plain-choice.ts';
import type { Recount } from './recount.ts';
import { createUsageCount } from './usage-count.ts';

export interface AnswerNeeds {
  readonly newCallId: () => string;
  readonly faults: Faults;
  /** Each choice comes with a usage of its own. */
  readonly hasUsagePerChoice?: boolean;
  /** Counts what the server does not tell; absent where nobody can. */
  readonly recount?: Recount | undefined;
}

/** The answer to one request in the chat-completions format; it is complete when every choice has said why it ended. */
export function createAnswer(request: EngineRequest, needs: AnswerNeeds): Answer<EngineEvent> {
  const { newCallId, faults, recount } = needs;
  const { input } = request;
  const toolUse = input.type === 'messages' ? input.toolUse : undefined;
  const choices = Array.from({ length: request.choices }, (_, choice) =>
    createChoice({
      choice,
      topLogprobs: request.logprobs?.top,
      stops: request.stop.strings,
      stopTokens: request.stop.tokens.flat(),
      isSingleCall: toolUse !== undefined && !toolUse.isParallel,
      newCallId,
      faults,
    }),
  );
  const count = createUsageCount({ isPerChoice: needs.hasUsagePerChoice === true && request.choices > 1 });
  let spoken = 0;
  let said = '';
  let tell: (event: EngineEvent) => void = () => undefined;
  let late: Promise<readonly EngineEvent[]> | undefined;

  const heard = (event: EngineEvent): void => {
    if (event.type === 'text' || event.type === 'reasoning') spoken += event.tokens;
    if (recount && 'text' in event) said += event.text;
    tell(event);
  };

  const choiceAt = (index: number | null | undefined): ReturnType<typeof createChoice> => {
    const choice = choices[index ?? 0];
    if (!choice) throw faults.failed(`sent choice ${index} of ${request.choices}`);
    return choice;
  };

  const isComplete = (): boolean => choices.every((choice) => choice.isEnded());

  return {
    push(json, emit) {
      tell = emit;
      const value = parsed(json, faults);
      const plain = plainChoice(value);
      if (plain) return choiceAt(plain.index).push(plain, heard);
      const chunk = read(value, faults);
      if (chunk.usage) count.take(chunk.usage);
      for (const wire of chunk.choices ?? []) choiceAt(wire.index).push(wire, heard);
    },
    isComplete,
    end(emit) {
      if (!isComplete()) throw faults.failed('ended its answer before every choice had a finish reason');
      const lacks = count.lacks(spoken);
      if (recount && (lacks.prompt || lacks.completion)) {
        late = recount(said, lacks).then((counted) => [{ type: 'end', usage: count.usage(spoken, counted) }]);
      } else emit({ type: 'end', usage: count.usage(spoken) });
    },
    late: () => late,
  };
}

function parsed(json: string, faults: Faults): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw faults.failed('sent something that is no JSON');
  }
}

/** Causes name places, never values: those are the answer's text. */
function read(value: unknown, faults: Faults): Chunk {
  const chunk = Chunk.safeParse(value);
  // One pass for the common event; only what is odd is looked at again.
  if (!chunk.success || chunk.data.error || chunk.data.object === 'error') {
    const error = errorIn(value);
    if (error) throw faults.refused(error.status, error);
  }
  if (chunk.success) return chunk.data;
  const places = chunk.error.issues.map(({ path }) => path.join('.') || 'the whole').slice(0, 5);
  throw faults.failed(`sent something that is not of the format, at ${places.join(', ')}`);
}
