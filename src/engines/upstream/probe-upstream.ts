import { UPSTREAM_QUERY_MS } from '../limits.ts';
import { parseCallBody } from '../remote/read-body-text.ts';
import type { UpstreamClient } from '../remote/upstream-client.ts';
import { readErrorResponse } from '../remote/read-error-response.ts';
import type { ServerProfile } from './server-profiles.ts';

/**
 * Probes the health of a server with the configured key: on its health route, or else by its list of models. A server
 * that has no list of models passes.
 *
 * @throws ServiceError when the server does not answer in time or refuses, for example with 503 while it loads.
 */
export async function probeUpstream(
  client: UpstreamClient,
  { healthPath }: Pick<ServerProfile, 'healthPath'>,
  signal: AbortSignal,
): Promise<void> {
  const call = await client.get(healthPath ?? 'models', { signal, responseMs: UPSTREAM_QUERY_MS });
  const status = call.response.statusCode ?? 0;
  const hasNoModelList = healthPath === undefined && (status === 404 || status === 405 || status === 501);
  if (status !== 200 && !hasNoModelList) throw await readErrorResponse(call, client.errors);
  // Read the body, so that the connection can be reused.
  await parseCallBody(call, () => undefined);
}
