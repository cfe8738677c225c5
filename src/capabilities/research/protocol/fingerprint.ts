import { createHash } from 'node:crypto';
import { getMessageText } from '../../../core/message.ts';
import type { ResearchRequest } from '../research.ts';

/**
 * Computes the fingerprint by which a repeated request attaches to the unfinished run of the first one: a SHA-256 in
 * hex that is equal for requests with the same model, report size, roles and texts.
 */
export function computeResearchFingerprint({ model, messages, reportSize }: ResearchRequest): string {
  const significant = [model, reportSize, ...messages.map((message) => [message.role, getMessageText(message)])];
  return createHash('sha256').update(JSON.stringify(significant)).digest('hex');
}
