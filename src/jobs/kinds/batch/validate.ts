import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { BATCH_TEST_ENDPOINT, type BatchProblem } from '../../../core/batch.ts';
import type { Ids } from '../../../core/id.ts';
import {
  BATCH_LINE_BYTES_MAX,
  BATCH_LINES_MAX,
  BATCH_PROBLEMS_MAX,
  BATCH_TEST_LINES_MAX,
} from '../../../core/limits.ts';
import { createLineCheck } from './check-line.ts';
import { DRY_RUN_MODEL } from './dry-run.ts';
import { encodeFault } from './encode-line.ts';
import { readLines } from './read-lines.ts';
import type { ResultGroup } from './result-group.ts';

export interface ValidateNeeds {
  readonly endpoint: string;
  readonly isModel: (name: string) => boolean;
  readonly ids: Pick<Ids, 'request'>;
  readonly faults: ResultGroup;
  readonly signal: AbortSignal;
}

/** Of lines that are looked at before those who wait for an answer have their turn: about a millisecond. */
const BYTES_IN_A_ROW = 64 * 1024;

/** `total` counts the lines that are not blank, good or not. */
export type Validated =
  | { readonly type: 'good'; readonly model: string; readonly total: number }
  | { readonly type: 'bad'; readonly problems: readonly BatchProblem[] };

/**
 * Looks at all lines of an input. Those that cannot be run have their results by that, as long as there is another one: an
 * input without a good line, or beyond what one may be, is bad as a whole.
 */
export async function validate(input: AsyncIterable<Uint8Array>, needs: ValidateNeeds): Promise<Validated> {
  const { endpoint, ids, faults, signal } = needs;
  const isDryRun = endpoint === BATCH_TEST_ENDPOINT;
  const linesMax = isDryRun ? BATCH_TEST_LINES_MAX : BATCH_LINES_MAX;
  const isModel = isDryRun ? (name: string): boolean => name === DRY_RUN_MODEL : needs.isModel;
  const check = createLineCheck({ endpoint, isModel });
  const problems: BatchProblem[] = [];
  let total = 0;
  let model: string | undefined;
  let sinceOthers = 0;

  for await (const each of readLines(input, { lineBytesMax: BATCH_LINE_BYTES_MAX })) {
    signal.throwIfAborted();
    sinceOthers += each.type === 'text' ? each.bytes.length : 0;
    if (sinceOthers > BYTES_IN_A_ROW) {
      await turnOfOthers();
      sinceOthers = 0;
    }
    if (total === linesMax) return bad('too_many_lines', `The input file has more than ${linesMax} lines.`);
    total += 1;
    const read = check(each);
    if (read.type === 'task') {
      model ??= read.task.model;
      continue;
    }
    const { customId, fault } = read;
    if (problems.length < BATCH_PROBLEMS_MAX) problems.push({ ...fault, line: each.line });
    await faults.add(encodeFault({ line: each.line, customId, id: ids.request() }, fault));
  }
  if (total === 0) return bad('empty_file', 'The input file has no lines.');
  return model === undefined ? { type: 'bad', problems } : { type: 'good', model, total };
}

const bad = (code: string, message: string): Validated => ({ type: 'bad', problems: [{ code, message }] });
