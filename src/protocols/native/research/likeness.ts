import { createHash } from 'node:crypto';
import { textOf } from '../../../core/message.ts';
import type { ResearchRequest } from '../../../core/research.ts';

/** The same for two requests that ask the same, however they are written and whatever else they say. 64 hex digits. */
export function likenessOf({ model, messages, reportSize }: ResearchRequest): string {
  const asked = [model, reportSize, ...messages.map((message) => [message.role, textOf(message)])];
  return createHash('sha256').update(JSON.stringify(asked)).digest('hex');
}
