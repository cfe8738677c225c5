import { randomBytes, randomUUID } from 'node:crypto';

/** Creates ids. Passed as a parameter, so that tests can predict the ids. */
export interface IdGenerator {
  /** Creates the id of a request: a random UUID. */
  createRequestId(): string;
  /** Creates `prefix` + 12 hexadecimal characters of milliseconds + 20 random ones: sortable by time, not guessable. */
  createSortableId(prefix: string): string;
  /** Creates `call_` + 24 random hexadecimal characters. */
  createToolCallId(): string;
}

/** A call of the system's generator for each id would block others for long where a request has thousands of items. */
const RANDOM_POOL_BYTES = 4096;
let pool = Buffer.alloc(0);
let used = 0;

/** Returns random bytes as hexadecimal characters. No byte is used twice. */
function takeRandomHex(count: number): string {
  if (used + count > pool.length) {
    pool = randomBytes(RANDOM_POOL_BYTES);
    used = 0;
  }
  used += count;
  return pool.toString('hex', used - count, used);
}

export const systemIdGenerator: IdGenerator = {
  createRequestId: () => randomUUID(),
  createSortableId: (prefix) => `${prefix}${Date.now().toString(16).padStart(12, '0')}${takeRandomHex(10)}`,
  createToolCallId: () => `call_${randomBytes(12).toString('hex')}`,
};
