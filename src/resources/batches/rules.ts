import { BATCH_TEST_ENDPOINT } from '../../core/batch.ts';
import { ServiceError } from '../../core/error.ts';
import type { Metadata } from '../../core/item.ts';
import {
  BATCH_DESCRIPTION_CODE_POINTS_MAX,
  BATCH_INPUT_BYTES_MAX,
  BATCH_NAME_CODE_POINTS_MAX,
  BATCH_RESERVE_BYTES_MIN,
  BATCH_TEST_BYTES_MAX,
} from '../../core/limits.ts';
import type { FileRecord } from '../../store/files.ts';
import type { FileTotal } from '../../store/file-totals.ts';
import { checkMetadata } from '../conversations/rules.ts';
import type { FileLimits } from '../files/file.ts';
import { checkCount, noRoom } from '../files/rules.ts';
import { BATCH_CALLBACK, BATCH_DESCRIPTION, BATCH_NAME } from './batch.ts';

const INPUT = 'input_file_id';

/** What a batch may read. */
const INPUT_PURPOSE = 'batch';

/** Files that may come of a batch. */
const RESULT_FILES = 2;

/** @throws ServiceError `invalid-request`. */
export function checkInput(file: FileRecord | undefined, endpoint: string): FileRecord {
  if (!file) throw refusal(INPUT, `${INPUT}: there is no such file.`);
  if (file.purpose !== INPUT_PURPOSE) {
    throw refusal(INPUT, `${INPUT} must be a file of purpose '${INPUT_PURPOSE}', got one of '${file.purpose}'.`);
  }
  const bytesMax = endpoint === BATCH_TEST_ENDPOINT ? BATCH_TEST_BYTES_MAX : BATCH_INPUT_BYTES_MAX;
  if (file.sizeBytes > bytesMax) {
    throw refusal(INPUT, `${INPUT} must be a file of at most ${bytesMax} bytes, got ${file.sizeBytes}.`);
  }
  return file;
}

/** wire.md E9.3, beside the rules for any metadata. @throws ServiceError `invalid-request`. */
export function checkBatchMetadata(metadata: Metadata): void {
  checkMetadata(metadata);
  checkLength(metadata, BATCH_NAME, BATCH_NAME_CODE_POINTS_MAX);
  checkLength(metadata, BATCH_DESCRIPTION, BATCH_DESCRIPTION_CODE_POINTS_MAX);
  const callback = metadata.get(BATCH_CALLBACK);
  if (callback === undefined || isWebAddress(callback)) return;
  throw refusal(`metadata.${BATCH_CALLBACK}`, `metadata.${BATCH_CALLBACK} must be an address with http or https.`);
}

/** Bytes that are reserved for one of the two files: a line of results is seldom longer than its request. */
export const bytesReserved = (inputBytes: number): number =>
  Math.max(inputBytes, BATCH_RESERVE_BYTES_MIN / RESULT_FILES);

/** As for an upload. @throws ServiceError `count-quota`; `storage-quota`. */
export function checkRoom(total: FileTotal, limits: FileLimits, bytesEach: number): void {
  checkCount(total, limits, RESULT_FILES);
  if (total.bytes + RESULT_FILES * bytesEach > limits.totalBytesMax) throw noRoom(total, limits);
}

function checkLength(metadata: Metadata, name: string, most: number): void {
  const length = Array.from(metadata.get(name) ?? '').length;
  if (length <= most) return;
  throw refusal(`metadata.${name}`, `metadata.${name} must have at most ${most} characters, got ${length}.`);
}

/** Whether it may be asked is judged when it is. */
const isWebAddress = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');

const refusal = (param: string, message: string): ServiceError =>
  new ServiceError('invalid-request', message, { param });
