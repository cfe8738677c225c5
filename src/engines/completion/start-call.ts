import { createLinkedAbort } from '../../lib/linked-abort.ts';
import { openEventBatches } from '../remote/open-event-batches.ts';
import type { UpstreamClient } from '../remote/upstream-client.ts';
import type {
  CompletionDialect,
  CompletionEvent,
  PhaseCall,
  CompletionServerMetadata,
  CallAcceptance,
} from './completion-dialect.ts';

/** A call that the server has accepted. */
export interface RunningCall {
  readonly acceptance: CallAcceptance;
  /** May be read once. */
  readonly batches: AsyncIterable<readonly CompletionEvent[]>;
  /** Closes the connection at once, which cancels the call at the server; does nothing once the response was read to its end. */
  cancel(): void;
}

export interface StartCallDeps {
  readonly client: UpstreamClient;
  readonly dialect: CompletionDialect;
  readonly metadata: CompletionServerMetadata;
  /** Model name at the server. */
  readonly model: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/**
 * Starts a call. Resolves when the server reports that it has accepted the call, or else with the head of its response.
 * @throws ServiceError when the server refuses the call before that; the signal's reason.
 */
export async function startCall(call: PhaseCall, deps: StartCallDeps): Promise<RunningCall> {
  const { client, dialect, metadata, requestId } = deps;
  const callAbort = createLinkedAbort(deps.signal);
  let isFinished = false;
  const finish = (): void => {
    isFinished = true;
    callAbort.unlink();
  };
  try {
    const accepted = Promise.withResolvers<CallAcceptance>();
    const responseParser = dialect.createParser(call, {
      errors: client.errors,
      metadata,
      onAccepted: accepted.resolve,
    });
    const body = JSON.stringify(dialect.encodeBody(call, deps.model));
    const upstreamCall = await client.post(dialect.path, body, { requestId, signal: callAbort.signal });
    const batches = (await openEventBatches(upstreamCall, responseParser, client))[Symbol.asyncIterator]();
    // Waiting for the acceptance reads the first batch, which is kept for the reader.
    const firstBatch = dialect.reportsAcceptance ? batches.next() : undefined;
    const acceptance = firstBatch
      ? await Promise.race([accepted.promise, firstBatch.then((): CallAcceptance => ({}))])
      : {};
    return {
      acceptance,
      batches: continueReading(firstBatch, { batches, onEnd: finish }),
      cancel() {
        if (!isFinished) callAbort.abort(undefined);
        finish();
      },
    };
  } catch (error) {
    finish();
    throw error;
  }
}

async function* continueReading<T>(
  first: Promise<IteratorResult<T>> | undefined,
  { batches, onEnd }: { readonly batches: AsyncIterator<T>; readonly onEnd: () => void },
): AsyncGenerator<T, void> {
  let next = await (first ?? batches.next());
  while (next.done !== true) {
    yield next.value;
    next = await batches.next();
  }
  onEnd();
}
