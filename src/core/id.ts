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

export const systemIdGenerator: IdGenerator = {
  createRequestId: () => randomUUID(),
  createSortableId: (prefix) =>
    `${prefix}${Date.now().toString(16).padStart(12, '0')}${randomBytes(10).toString('hex')}`,
  createToolCallId: () => `call_${randomBytes(12).toString('hex')}`,
};
