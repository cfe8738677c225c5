import { BATCH_TEST_ENDPOINT } from '../../core/batch.ts';
import { ServiceError } from '../../core/error.ts';
import type { Metadata } from '../../core/item.ts';
import {
  BATCH_DESCRIPTION_CODE_POINTS_MAX,
  BATCH_INPUT_BYTES_MAX,
  BATCH_NAME_CODE_POINTS_MAX,
  BATCH_RESERVE_BYTES_MIN,
  BATCH_TEST_BYTES_MAX,
} from './limits.ts';
import type { FileRecord } from '../../store/files.ts';
import type { FileUsage } from '../../store/file-totals.ts';
import { checkMetadata } from '../conversations/rules.ts';
import type { FileLimits } from '../files/file.ts';
import { checkCount, createStorageQuotaError } from '../files/rules.ts';
import { BATCH_CALLBACK_KEY, BATCH_DESCRIPTION_KEY, BATCH_NAME_KEY } from './batch.ts';

const INPUT = 'input_file_id';

/** Purpose of a file that a batch may read. */
const INPUT_PURPOSE = 'batch';

/** A batch writes an output file and an error file. */
const RESULT_FILES_PER_BATCH = 2;

/** @throws ServiceError `invalid-request`. */
export function checkInput(file: FileRecord | undefined, endpoint: string): FileRecord {
  if (!file) throw invalidRequest(INPUT, `${INPUT} must be the id of an existing file.`);
  if (file.purpose !== INPUT_PURPOSE) {
    throw invalidRequest(INPUT, `${INPUT} must be a file of purpose '${INPUT_PURPOSE}', got one of '${file.purpose}'.`);
  }
  const bytesMax = endpoint === BATCH_TEST_ENDPOINT ? BATCH_TEST_BYTES_MAX : BATCH_INPUT_BYTES_MAX;
  if (file.sizeBytes > bytesMax) {
    throw invalidRequest(INPUT, `${INPUT} must be a file of at most ${bytesMax} bytes, got ${file.sizeBytes}.`);
  }
  return file;
}

/**
 * Checks the rules for any metadata and those for a batch's name, description and callback
 * (docs/wire/openai-compatible.md#batches).
 * @throws ServiceError `invalid-request`.
 */
export function checkBatchMetadata(metadata: Metadata): void {
  checkMetadata(metadata);
  checkLength(metadata, BATCH_NAME_KEY, BATCH_NAME_CODE_POINTS_MAX);
  checkLength(metadata, BATCH_DESCRIPTION_KEY, BATCH_DESCRIPTION_CODE_POINTS_MAX);
  const callback = metadata.get(BATCH_CALLBACK_KEY);
  if (callback === undefined || isHttpUrl(callback)) return;
  throw invalidRequest(
    `metadata.${BATCH_CALLBACK_KEY}`,
    `metadata.${BATCH_CALLBACK_KEY} must be a URL that begins with http:// or https://.`,
  );
}

/** @returns bytes to reserve for each of the two result files: a result line is seldom longer than its request. */
export const getReservedBytes = (inputBytes: number): number =>
  Math.max(inputBytes, BATCH_RESERVE_BYTES_MIN / RESULT_FILES_PER_BATCH);

/** Applies the quotas for uploads to the two result files. @throws ServiceError `count-quota`; `storage-quota`. */
export function checkQuota(total: FileUsage, limits: FileLimits, bytesEach: number): void {
  checkCount(total, limits, RESULT_FILES_PER_BATCH);
  if (total.bytes + RESULT_FILES_PER_BATCH * bytesEach > limits.totalBytesMax)
    throw createStorageQuotaError(total, limits);
}

function checkLength(metadata: Metadata, name: string, charsMax: number): void {
  const length = Array.from(metadata.get(name) ?? '').length;
  if (length <= charsMax) return;
  throw invalidRequest(`metadata.${name}`, `metadata.${name} must have at most ${charsMax} characters, got ${length}.`);
}

/** Whether the address may be called is checked at the time of the call. */
const isHttpUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');

const invalidRequest = (param: string, message: string): ServiceError =>
  new ServiceError('invalid-request', message, { param });
