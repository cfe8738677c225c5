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

/**
 * Returns 80 random bits as 20 hexadecimal characters: the groups of a UUID without fixed bits. Node draws the random bytes of
 * many UUIDs at once; a call of the system for each id would block others where a request has thousands of items.
 */
function createRandomHex(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(24);
}

export const systemIdGenerator: IdGenerator = {
  createRequestId: () => randomUUID(),
  createSortableId: (prefix) => `${prefix}${Date.now().toString(16).padStart(12, '0')}${createRandomHex()}`,
  createToolCallId: () => `call_${randomBytes(12).toString('hex')}`,
};
