import type { GenerationEvent } from '../../../../core/event.ts';
import { ServiceError } from '../../../../core/error.ts';
import { encode } from '../encode.ts';
import type { ResponseObject } from '../encode.ts';
import type { ResponseHead } from '../head.ts';
import { keptTurn } from '../kept-turn.ts';
import type { ResponseEvent } from '../response-event.ts';

/** Three seconds after the goldens' beginning. */
const COMPLETED_AT = 1771165903;

interface Told {
  readonly events: readonly ResponseEvent[];
  /** What was kept; undefined where the generation broke off. */
  readonly response: ResponseObject | undefined;
}

/** What becomes of events on their way to the encoder. */
export async function told(events: readonly GenerationEvent[], head: ResponseHead): Promise<Told> {
  async function* batches(): AsyncGenerator<readonly GenerationEvent[]> {
    yield events;
  }
  const seen: ResponseEvent[] = [];
  let response: ResponseObject | undefined;
  const turn = keptTurn(batches(), {
    turn: { abandon: async () => undefined },
    async keep(result) {
      response = encode(head, result, COMPLETED_AT);
      return response;
    },
  });
  try {
    for await (const batch of turn) seen.push(...batch);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'engine-failed') throw error;
  }
  return { events: seen, response };
}
