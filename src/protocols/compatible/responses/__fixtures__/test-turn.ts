import type { GenerationEvent } from '../../../../core/event.ts';
import { ServiceError } from '../../../../core/error.ts';
import { encodeResponse, type ResponseObject } from '../encode.ts';
import type { ResponseHead } from '../head.ts';
import { persistTurn } from '../persist-turn.ts';
import type { ResponseEvent } from '../response-event.ts';

/** Unix seconds, three seconds after the creation time in the golden files. */
const COMPLETED_AT = 1771165903;

interface TestTurn {
  readonly events: readonly ResponseEvent[];
  /** The stored response; undefined if the generation failed. */
  readonly response: ResponseObject | undefined;
}

/** Runs generation events through `persistTurn` and collects the events for the encoder. */
export async function runTestTurn(events: readonly GenerationEvent[], head: ResponseHead): Promise<TestTurn> {
  async function* batches(): AsyncGenerator<readonly GenerationEvent[]> {
    yield events;
  }
  const collected: ResponseEvent[] = [];
  let response: ResponseObject | undefined;
  const turn = persistTurn(batches(), {
    turn: { abandon: async () => undefined },
    async storeTurn(result) {
      response = encodeResponse(head, result, COMPLETED_AT);
      return response;
    },
  });
  try {
    for await (const batch of turn) collected.push(...batch);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'engine-failed') throw error;
  }
  return { events: collected, response };
}
