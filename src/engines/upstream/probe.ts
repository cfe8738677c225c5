import { UPSTREAM_ASK_MS, UPSTREAM_BODY_CHARACTERS_MAX } from '../../core/limits.ts';
import { bodyText } from '../remote/body-text.ts';
import type { Connection } from '../remote/connection.ts';
import { refusalOf } from '../remote/refusal.ts';
import type { Server } from './servers.ts';

/**
 * Asks a server whether it works, with our key: at its own place for that, or by its list of models.
 *
 * @throws ServiceError when it does not answer in time or refuses: one that is still loading (503) does. A server without
 * a list of models has answered, and that is enough.
 */
export async function probe(
  connection: Connection,
  { health }: Pick<Server, 'health'>,
  signal: AbortSignal,
): Promise<void> {
  const call = await connection.get(health ?? 'models', { signal, answerMs: UPSTREAM_ASK_MS });
  const { response, watch, why } = call;
  const status = response.statusCode ?? 0;
  const isSilent = health === undefined && (status === 404 || status === 405 || status === 501);
  if (status !== 200 && !isSilent) throw await refusalOf(call, connection.faults);
  try {
    // Read, so that the connection can be used again.
    await bodyText(response, UPSTREAM_BODY_CHARACTERS_MAX);
  } catch (thrown) {
    throw why(thrown);
  } finally {
    watch.rest();
  }
}
