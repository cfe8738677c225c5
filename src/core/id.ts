import { randomBytes, randomUUID } from 'node:crypto';

/** Makes ids. An argument, so that tests know what comes out. */
export interface Ids {
  /** A request's id: a random UUID. */
  request(): string;
  /** `prefix` + time-sortable random: 12 hex characters of milliseconds, 20 of randomness; never guessable. */
  sortable(prefix: string): string;
  /** `call_` + 24 hex characters. */
  toolCall(): string;
}

export const systemIds: Ids = {
  request: () => randomUUID(),
  sortable: (prefix) => `${prefix}${Date.now().toString(16).padStart(12, '0')}${randomBytes(10).toString('hex')}`,
  toolCall: () => `call_${randomBytes(12).toString('hex')}`,
};
