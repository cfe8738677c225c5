import { CODE_CONTAINER_IDLE_MS } from '../../../core/limits.ts';
import type { ServerCall } from '../../../core/server-tools.ts';
import type { MessageHead } from './head.ts';

/**
 * Encodes the container in which the answer's programs ran (the last one, if it was replaced); undefined without
 * programs.
 */
export function encodeContainer(calls: readonly ServerCall[], { startedAt }: MessageHead): object | undefined {
  const id = calls
    .flatMap((call) => (call.type === 'code' && call.containerId !== '' ? [call.containerId] : []))
    .at(-1);
  if (id === undefined) return undefined;
  // A container lives this long after its last use, which is later than the start of the message.
  const expires_at = new Date(startedAt + CODE_CONTAINER_IDLE_MS).toISOString();
  return { id, expires_at, skills: null };
}
