import type { BlobStore } from '../../../blobs/blob-store.ts';
import { BATCH_TEST_ENDPOINT, type BatchOutcome, type BatchResultKind } from '../../../core/batch.ts';
import { INTERNAL_MESSAGE, isFileDamaged, ServiceError } from '../../../core/error.ts';
import { systemIdGenerator } from '../../../core/id.ts';
import { BATCH_LINE_CONCURRENCY } from '../../../core/limits.ts';
import { BATCH_JOB_CONCURRENCY, BATCH_WINDOW_POLL_MS } from './limits.ts';
import type { Owner } from '../../../core/context.ts';
import type { Log } from '../../../core/telemetry.ts';
import type { Clock } from '../../../lib/clock.ts';
import { startInterval } from '../../../lib/start-interval.ts';
import { createLinkedAbort } from '../../../lib/linked-abort.ts';
import type { BatchLifecycle, ResultFile } from '../../../resources/batches/batch.ts';
import type { BatchRecord } from '../../../store/batches.ts';
import type { JobHandler, JobContext } from '../../handler.ts';
import { parseLine } from './parse-line.ts';
import { createDryRun } from './dry-run.ts';
import { encodeExpired } from './encode-result.ts';
import type { ExecuteLine } from './execute-line.ts';
import { readInput } from './read-input.ts';
import { createResultBuffer, type ResultBuffer } from './result-buffer.ts';
import { listUnfinishedLines, runLines } from './run-lines.ts';
import { createSemaphore } from '../../../lib/semaphore.ts';
import { validateInput } from './validate-input.ts';

export interface BatchHandlerDeps {
  readonly lifecycle: BatchLifecycle;
  readonly blobs: Pick<BlobStore, 'read' | 'put'>;
  readonly executeLine: ExecuteLine;
  /**
   * Returns whether the owner may use a model of this name. Whether the model supports the endpoint shows when a line
   * runs.
   */
  readonly isModel: (name: string, owner: Owner) => boolean;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Lines that run concurrently, of all batches of this process. */
  readonly concurrency?: number;
}

/** Abort reason at the end of the completion window. */
const WINDOW_EXPIRED = Symbol('completion window expired');

/** Processes a batch from its input file to its result files; `BatchLifecycle` stores each step. */
export function createBatchHandler(deps: BatchHandlerDeps): JobHandler {
  const { lifecycle, blobs, executeLine, isModel, clock, log, concurrency = BATCH_LINE_CONCURRENCY } = deps;
  const semaphore = createSemaphore({ permits: concurrency });
  const dryRun = createDryRun({ ids: systemIdGenerator, clock });

  const createResults = (batch: BatchRecord, { report }: JobContext, step: string): ResultBuffer =>
    createResultBuffer(async (results) => {
      const counts = await lifecycle.addResults(batch.id, results);
      if (!counts) throw new ServiceError('conflict', 'Another process is finalizing the batch.');
      const { completed, failed, total } = counts;
      report({ done: completed + failed, step, ...(total > 0 ? { total } : {}) });
    });

  /** Returns the batch after validation: started or failed. */
  const validateBatch = async (batch: BatchRecord, run: JobContext): Promise<BatchRecord | undefined> => {
    const errors = createResults(batch, run, 'validating');
    const { endpoint } = batch;
    const owner = getOwner(batch);
    const isKnown = (name: string): boolean => isModel(name, owner);
    const options = { endpoint, isModel: isKnown, ids: systemIdGenerator, errors, signal: run.signal };
    const validation = await validateInput(readInput(blobs, batch.inputBlob), options);
    await errors.flush();
    if (validation.type === 'invalid') return await lifecycle.fail(batch.id, validation.problems);
    return await lifecycle.start(batch.id, validation);
  };

  /** Runs until every line has a result. When the window expires, the remaining lines get an error result. */
  const answerLines = async (batch: BatchRecord, run: JobContext): Promise<BatchOutcome> => {
    const { id, endpoint, inputBlob, expiresAt } = batch;
    const results = createResults(batch, run, 'in_progress');
    const window = createLinkedAbort(run.signal);
    // Checks the clock, because a timer over days stands still while the machine sleeps.
    const checkWindow = (): void => {
      if (expiresAt !== undefined && clock.now() >= expiresAt) window.abort(WINDOW_EXPIRED);
    };
    const stopChecking = startInterval(BATCH_WINDOW_POLL_MS, checkWindow);
    checkWindow();
    const pendingLines = {
      input: readInput(blobs, inputBlob),
      findDoneLines: (range: { readonly first: number; readonly last: number }) =>
        lifecycle.findCompletedLines(id, range),
    };
    try {
      await runLines({
        ...pendingLines,
        batch: { id, endpoint, owner: getOwner(batch) },
        executeLine: endpoint === BATCH_TEST_ENDPOINT ? dryRun : executeLine,
        results,
        semaphore,
        linesInMemoryMax: concurrency,
        clock,
        createRequestId: () => systemIdGenerator.createRequestId(),
        signal: window.signal,
      });
      return 'completed';
    } catch (thrown) {
      if (thrown !== WINDOW_EXPIRED || run.signal.aborted) throw thrown;
    } finally {
      stopChecking();
      window.unlink();
    }
    for await (const input of listUnfinishedLines({ ...pendingLines, input: readInput(blobs, inputBlob) })) {
      run.signal.throwIfAborted();
      const parsed = parseLine(input, { endpoint });
      const customId = parsed.type === 'valid' ? parsed.batchLine.customId : parsed.customId;
      await results.add(encodeExpired({ line: input.line, customId, id: systemIdGenerator.createRequestId() }));
    }
    await results.flush();
    return 'expired';
  };

  const writeFile = async (batch: BatchRecord, kind: BatchResultKind, signal?: AbortSignal): Promise<ResultFile> => {
    const blob = kind === 'output' ? batch.outputBlob : batch.errorBlob;
    return { blob, ...(await blobs.put(blob, joinIntoPieces(lifecycle.readResults(batch.id, kind)), { signal })) };
  };

  const finish = async (id: string, endsAs: BatchOutcome, signal?: AbortSignal): Promise<void> => {
    const batch = await lifecycle.startFinalizing(id, endsAs);
    if (!batch || batch.endedAt !== undefined) return;
    const { completed, failed } = batch.counts;
    const isStarted = batch.inProgressAt !== undefined;
    const ended = await lifecycle.finish(id, {
      ...(isStarted && completed > 0 ? { output: await writeFile(batch, 'output', signal) } : {}),
      ...(isStarted && failed > 0 ? { error: await writeFile(batch, 'error', signal) } : {}),
    });
    if (ended) log.info('batch ended', { batch: id, status: ended.status, ...ended.counts });
  };

  const runBatch = async (run: JobContext): Promise<void> => {
    const id = run.job.subject;
    let batch = await lifecycle.find(id);
    if (batch?.status === 'validating') batch = await validateBatch(batch, run);
    if (!batch || batch.endedAt !== undefined) return;
    const endsAs = batch.status === 'in_progress' ? await answerLines(batch, run) : findTermination(batch);
    const { completed, failed, total } = batch.counts;
    run.report({ done: batch.status === 'in_progress' ? total : completed + failed, total, step: 'finalizing' });
    await finish(id, endsAs, run.signal);
  };

  /** Ends a batch whose input cannot be read. Another attempt would find the same bytes. */
  const failDamaged = async (id: string): Promise<void> => {
    const batch = await lifecycle.find(id);
    const message = `The stored bytes of the input file ${batch?.inputFileId} are damaged or lost. Upload the file again and create a new batch.`;
    await lifecycle.fail(id, [{ code: 'file_damaged', message, param: 'input_file_id' }]);
    log.error('batch failed: its input file is damaged', { batch: id, file: batch?.inputFileId });
  };

  return {
    concurrency: BATCH_JOB_CONCURRENCY,
    async run(run) {
      await runBatch(run).catch(async (thrown: unknown) => {
        if (!isFileDamaged(thrown)) throw thrown;
        await failDamaged(run.job.subject);
      });
      return { type: 'done' };
    },
    cancel: ({ subject }) => finish(subject, 'cancelled'),
    async giveUp({ subject }, error) {
      log.error('batch given up', { batch: subject, error });
      await lifecycle.fail(subject, [{ code: 'internal_error', message: INTERNAL_MESSAGE }]);
    },
  };
}

const findTermination = ({ endsAs, status }: BatchRecord): BatchOutcome =>
  endsAs ?? (status === 'cancelling' ? 'cancelled' : 'completed');

const getOwner = ({ workspace, region, keyId }: BatchRecord) => ({ workspace, region, keyId });

/** Approximate number of characters per write. */
const PIECE_CHARS = 64 * 1024;

async function* joinIntoPieces(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
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
