import { linkedAbort } from '../../lib/linked-abort.ts';
import { batchesOf } from '../remote/batches-of.ts';
import type { Connection } from '../remote/connection.ts';
import type { Dialect, Heard, PhaseCall, ServerFacts, Taken } from './dialect.ts';

/** A call that the server has taken in. */
export interface RunningCall {
  readonly taken: Taken;
  /** To be read once. */
  readonly batches: AsyncIterable<readonly Heard[]>;
  /** Closes the connection at once, unless the answer was read to its end; that is how the server hears of it. */
  cancel(): void;
}

export interface CallNeeds {
  readonly connection: Connection;
  readonly dialect: Dialect;
  readonly facts: ServerFacts;
  /** The model's name there. */
  readonly model: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/**
 * Resolves when the server has begun with the call, or at the head of its answer where it does not say so.
 * @throws ServiceError for what the server refuses until then; the signal's reason.
 */
export async function beginCall(call: PhaseCall, needs: CallNeeds): Promise<RunningCall> {
  const { connection, dialect, facts, requestId } = needs;
  const own = linkedAbort(needs.signal);
  let isOver = false;
  const over = (): void => {
    isOver = true;
    own.unlink();
  };
  try {
    const begun = Promise.withResolvers<Taken>();
    const answer = dialect.answer(call, { faults: connection.faults, facts, onTaken: begun.resolve });
    const body = JSON.stringify(dialect.body(call, needs.model));
    const sent = await connection.post(dialect.path, body, { requestId, signal: own.signal });
    const batches = (await batchesOf(sent, answer, connection))[Symbol.asyncIterator]();
    // Reading begins here where the answer's beginning is waited for; what it brings is kept for the reader.
    const first = dialect.tellsTaken ? batches.next() : undefined;
    const taken = first ? await Promise.race([begun.promise, first.then((): Taken => ({}))]) : {};
    return {
      taken,
      batches: goOn(first, { batches, over }),
      cancel() {
        if (!isOver) own.abort(undefined);
        over();
      },
    };
  } catch (error) {
    over();
    throw error;
  }
}

async function* goOn<T>(
  first: Promise<IteratorResult<T>> | undefined,
  { batches, over }: { readonly batches: AsyncIterator<T>; readonly over: () => void },
): AsyncGenerator<T, void> {
  let next = await (first ?? batches.next());
  while (next.done !== true) {
    yield next.value;
    next = await batches.next();
  }
  over();
}
