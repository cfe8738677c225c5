import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/error.ts';

/**
 * Refuses requests that say twice who sends them or where to. node:http keeps the first value, a proxy perhaps the
 * last, so that the two would decide differently.
 * @throws ServiceError `invalid-request` naming the header.
 */
export function rejectRepeatedHeaders({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): void {
  let hasCredentials = false;
  let hasApiKey = false;
  let host: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    // Fast path: nearly all headers have another length.
    if (name.length === 4 && name.toLowerCase() === 'host') {
      const value = rawHeaders[at + 1] ?? '';
      if (host !== undefined && host !== value) throw createRepetitionError('Host');
      host = value;
    } else if (name.length === 13 && name.toLowerCase() === 'authorization') {
      if (hasCredentials) throw createRepetitionError('Authorization');
      hasCredentials = true;
    } else if (name.length === 9 && name.toLowerCase() === 'x-api-key') {
      if (hasApiKey) throw createRepetitionError('x-api-key');
      hasApiKey = true;
    }
  }
}

const createRepetitionError = (name: string): ServiceError =>
  new ServiceError('invalid-request', `The header ${name} occurs more than once. Send it once.`);
