import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { BATCH_TEST_ENDPOINT, type BatchProblem } from '../../../core/batch.ts';
import type { IdGenerator } from '../../../core/id.ts';
import { BATCH_PROBLEMS_MAX } from '../../../core/limits.ts';
import { BATCH_LINE_BYTES_MAX, BATCH_LINES_MAX, BATCH_TEST_LINES_MAX } from './limits.ts';
import { createLineValidator } from './parse-line.ts';
import { DRY_RUN_MODEL } from './dry-run.ts';
import { encodeLineError } from './encode-result.ts';
import { readLines } from './read-lines.ts';
import type { ResultBuffer } from './result-buffer.ts';

export interface ValidateInputOptions {
  readonly endpoint: string;
  readonly isModel: (name: string) => boolean;
  readonly ids: Pick<IdGenerator, 'createRequestId'>;
  readonly errors: ResultBuffer;
  readonly signal: AbortSignal;
}

/** Bytes that are validated before the event loop handles other requests: about one millisecond. */
const BYTES_PER_SLICE = 64 * 1024;

/** `total` counts the non-blank lines, valid or not. */
export type InputValidation =
  | { readonly type: 'valid'; readonly model: string; readonly total: number }
  | { readonly type: 'invalid'; readonly problems: readonly BatchProblem[] };

/**
 * Validates all lines of an input. Invalid lines get an error result, provided that at least one line is valid. An
 * input without a valid line, or with too many lines, is invalid as a whole.
 */
export async function validateInput(
  input: AsyncIterable<Uint8Array>,
  options: ValidateInputOptions,
): Promise<InputValidation> {
  const { endpoint, ids, errors, signal } = options;
  const isDryRun = endpoint === BATCH_TEST_ENDPOINT;
  const linesMax = isDryRun ? BATCH_TEST_LINES_MAX : BATCH_LINES_MAX;
  const isModel = isDryRun ? (name: string): boolean => name === DRY_RUN_MODEL : options.isModel;
  const validateLine = createLineValidator({ endpoint, isModel });
  const problems: BatchProblem[] = [];
  let total = 0;
  let model: string | undefined;
  let bytesSinceYield = 0;

  for await (const each of readLines(input, { lineBytesMax: BATCH_LINE_BYTES_MAX })) {
    signal.throwIfAborted();
    bytesSinceYield += each.type === 'text' ? each.bytes.length : 0;
    if (bytesSinceYield > BYTES_PER_SLICE) {
      await yieldToEventLoop();
      bytesSinceYield = 0;
    }
    if (total === linesMax) return createInvalid('too_many_lines', `The input file has more than ${linesMax} lines.`);
    total += 1;
    const parsed = validateLine(each);
    if (parsed.type === 'valid') {
      model ??= parsed.batchLine.model;
      continue;
    }
    const { customId, error } = parsed;
    if (problems.length < BATCH_PROBLEMS_MAX) problems.push({ ...error, line: each.line });
    await errors.add(encodeLineError({ line: each.line, customId, id: ids.createRequestId() }, error));
  }
  if (total === 0) return createInvalid('empty_file', 'The input file has no lines.');
  return model === undefined ? { type: 'invalid', problems } : { type: 'valid', model, total };
}

const createInvalid = (code: string, message: string): InputValidation => ({
  type: 'invalid',
  problems: [{ code, message }],
});
