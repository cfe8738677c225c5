import type { BlobStore } from '../../../blobs/blob-store.ts';
import { BATCH_TEST_ENDPOINT, type BatchEnd, type ResultKind } from '../../../core/batch.ts';
import { INTERNAL_MESSAGE, ServiceError } from '../../../core/error.ts';
import { type Ids, systemIds } from '../../../core/id.ts';
import { BATCHES_AT_ONCE, BATCH_CONCURRENCY, BATCH_WINDOW_LOOK_MS } from '../../../core/limits.ts';
import type { Owner } from '../../../core/context.ts';
import type { Log } from '../../../core/telemetry.ts';
import type { Clock } from '../../../lib/clock.ts';
import { every } from '../../../lib/every.ts';
import { linkedAbort } from '../../../lib/linked-abort.ts';
import type { BatchWork, WrittenFile } from '../../../resources/batches/batch.ts';
import type { BatchRecord } from '../../../store/batches.ts';
import type { JobHandler, JobRun } from '../../handler.ts';
import { readTask } from './check-line.ts';
import { createDryRun } from './dry-run.ts';
import { encodeExpired } from './encode-line.ts';
import type { ExecuteLine } from './execute-line.ts';
import type { PaceNeeds } from './pace.ts';
import { readInput } from './read-input.ts';
import { createResultGroup, type ResultGroup } from './result-group.ts';
import { linesWithoutResult, runLines } from './run-lines.ts';
import { createSlots } from './slots.ts';
import { validate } from './validate.ts';

export interface BatchHandlerNeeds {
  readonly work: BatchWork;
  readonly blobs: Pick<BlobStore, 'read' | 'put'>;
  readonly executeLine: ExecuteLine;
  /** Whether there is such a model for whom the batch belongs to: whether it does what the endpoint asks is told line by line. */
  readonly isModel: (name: string, owner: Owner) => boolean;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Lines that are run at once, of all batches of this process. */
  readonly concurrency?: number;
  readonly ids?: Ids;
  readonly pace?: Omit<PaceNeeds, 'clock'>;
}

/** What a window's end aborts with. */
const WINDOW_OVER = Symbol('the window is over');

/** A batch from its input file to its output files, in steps that `BatchWork` keeps. */
export function createBatchHandler(needs: BatchHandlerNeeds): JobHandler {
  const { work, blobs, executeLine, isModel, clock, log, concurrency = BATCH_CONCURRENCY, ids = systemIds } = needs;
  const slots = createSlots(concurrency);
  const dryRun = createDryRun({ ids, clock });

  const resultsOf = (batch: BatchRecord, { report }: JobRun, step: string): ResultGroup =>
    createResultGroup(async (results) => {
      const counts = await work.addResults(batch.id, results);
      if (!counts) throw new ServiceError('conflict', 'The batch is being ended by another process.');
      const { completed, failed, total } = counts;
      report({ done: completed + failed, step, ...(total > 0 ? { total } : {}) });
    });

  /** As it is after its lines were looked at: begun, or failed. */
  const inspect = async (batch: BatchRecord, run: JobRun): Promise<BatchRecord | undefined> => {
    const faults = resultsOf(batch, run, 'validating');
    const { endpoint } = batch;
    const owner = ownerOf(batch);
    const isKnown = (name: string): boolean => isModel(name, owner);
    const needs = { endpoint, isModel: isKnown, ids, faults, signal: run.signal };
    const looked = await validate(readInput(blobs, batch.inputBlob), needs);
    await faults.flush();
    if (looked.type === 'bad') return await work.fail(batch.id, looked.problems);
    return await work.start(batch.id, looked);
  };

  /** Until every line has its result, or its window is over: then those that are left have that one. */
  const answer = async (batch: BatchRecord, run: JobRun): Promise<BatchEnd> => {
    const { id, endpoint, inputBlob, expiresAt } = batch;
    const results = resultsOf(batch, run, 'in_progress');
    const window = linkedAbort(run.signal);
    // By the clock, and not by a timer of days: that stands still while the machine sleeps.
    const look = (): void => {
      if (expiresAt !== undefined && clock.now() >= expiresAt) window.abort(WINDOW_OVER);
    };
    const stopLooking = every(BATCH_WINDOW_LOOK_MS, look);
    look();
    const todo = {
      input: readInput(blobs, inputBlob),
      doneLines: (range: { readonly first: number; readonly last: number }) => work.doneLines(id, range),
    };
    try {
      await runLines({
        ...todo,
        batch: { id, endpoint, owner: ownerOf(batch) },
        executeLine: endpoint === BATCH_TEST_ENDPOINT ? dryRun : executeLine,
        results,
        slots,
        heldMax: concurrency,
        clock,
        newId: () => ids.request(),
        pace: needs.pace,
        signal: window.signal,
      });
      return 'completed';
    } catch (thrown) {
      if (thrown !== WINDOW_OVER || run.signal.aborted) throw thrown;
    } finally {
      stopLooking();
      window.unlink();
    }
    for await (const input of linesWithoutResult({ ...todo, input: readInput(blobs, inputBlob) })) {
      run.signal.throwIfAborted();
      const read = readTask(input, { endpoint });
      const customId = read.type === 'task' ? read.task.customId : read.customId;
      await results.add(encodeExpired({ line: input.line, customId, id: ids.request() }));
    }
    await results.flush();
    return 'expired';
  };

  const writeFile = async (batch: BatchRecord, kind: ResultKind, signal?: AbortSignal): Promise<WrittenFile> => {
    const blob = kind === 'output' ? batch.outputBlob : batch.errorBlob;
    return { blob, ...(await blobs.put(blob, inPieces(work.readResults(batch.id, kind)), { signal })) };
  };

  const end = async (id: string, endsAs: BatchEnd, signal?: AbortSignal): Promise<void> => {
    const batch = await work.beginFinalizing(id, endsAs);
    if (!batch || batch.endedAt !== undefined) return;
    const { completed, failed } = batch.counts;
    const isBegun = batch.inProgressAt !== undefined;
    const ended = await work.finish(id, {
      ...(isBegun && completed > 0 ? { output: await writeFile(batch, 'output', signal) } : {}),
      ...(isBegun && failed > 0 ? { error: await writeFile(batch, 'error', signal) } : {}),
    });
    if (ended) log.info('a batch has ended', { batch: id, status: ended.status, ...ended.counts });
  };

  return {
    atOnce: BATCHES_AT_ONCE,
    async run(run) {
      const id = run.job.subject;
      let batch = await work.find(id);
      if (batch?.status === 'validating') batch = await inspect(batch, run);
      if (!batch || batch.endedAt !== undefined) return { type: 'done' };
      const endsAs = batch.status === 'in_progress' ? await answer(batch, run) : endOf(batch);
      const { completed, failed, total } = batch.counts;
      run.report({ done: batch.status === 'in_progress' ? total : completed + failed, total, step: 'finalizing' });
      await end(id, endsAs, run.signal);
      return { type: 'done' };
    },
    cancel: ({ subject }) => end(subject, 'cancelled'),
    async giveUp({ subject }, error) {
      log.error('a batch was given up', { batch: subject, error });
      await work.fail(subject, [{ code: 'internal_error', message: INTERNAL_MESSAGE }]);
    },
  };
}

const endOf = ({ endsAs, status }: BatchRecord): BatchEnd =>
  endsAs ?? (status === 'cancelling' ? 'cancelled' : 'completed');

const ownerOf = ({ workspace, region, keyId }: BatchRecord) => ({ workspace, region, keyId });

/** Characters, about, that are written at once. */
const PIECE_CHARS = 64 * 1024;

async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let piece: string[] = [];
  let chars = 0;
  for await (const line of lines) {
    piece.push(line, '\n');
    chars += line.length + 1;
    if (chars < PIECE_CHARS) continue;
    yield Buffer.from(piece.join(''));
    [piece, chars] = [[], 0];
  }
  if (piece.length > 0) yield Buffer.from(piece.join(''));
}
