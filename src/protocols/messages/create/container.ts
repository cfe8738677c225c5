import { CODE_CONTAINER_IDLE_MS } from '../../../core/limits.ts';
import type { ServerCall } from '../../../core/server-tools.ts';
import type { MessageHead } from './head.ts';

/** Where programs of an answer ran, for who wants to go on there; undefined where none ran. The last one, where it was lost in between. */
export function containerOf(calls: readonly ServerCall[], { startedAt }: MessageHead): object | undefined {
  const id = calls
    .flatMap((call) => (call.type === 'code' && call.containerId !== '' ? [call.containerId] : []))
    .at(-1);
  if (id === undefined) return undefined;
  // It stays as long from its last use on, which came later: until then at least.
  const expires_at = new Date(startedAt + CODE_CONTAINER_IDLE_MS).toISOString();
  return { id, expires_at, skills: null };
}
