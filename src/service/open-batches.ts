import { createBatchEndpoints } from '../protocols/compatible/batches/endpoints.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import { createBatches } from '../resources/batches/service.ts';
import { startBatchCleanup } from '../resources/batches/line-cleanup.ts';
import { createBatchLifecycle } from '../resources/batches/lifecycle.ts';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Catalogue } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import { systemIdGenerator } from '../core/id.ts';
import { CALLBACK_CONNECT_MS, CALLBACK_HEAD_MS, CALLBACK_TOTAL_MS } from './limits.ts';
import type { Meter } from '../core/telemetry.ts';
import type { JobHandlers } from '../jobs/handler.ts';
import { createBatchCallbackHandler } from '../jobs/kinds/batch-callback-handler.ts';
import { createBatchHandler } from '../jobs/kinds/batch/batch-handler.ts';
import { createGuardedPost } from '../net/guarded-post.ts';
import { encodeBatch } from '../protocols/compatible/batches/encode.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createExecuteLine } from './execute-line.ts';
import type { FilesModule } from './open-files.ts';
import { readOrCreateSecret } from './read-or-create-secret.ts';
import type { ServiceContext } from './service-context.ts';

interface BatchJobsDeps {
  /** The endpoints that also serve HTTP requests; each line of a batch is a request to one of them. */
  readonly endpoints: readonly Endpoint[];
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly meter: Meter;
}

/** Opens everything for batches; the job handlers follow when the endpoints exist. */
export function openBatches(
  { config, store, clock, log, keys, jobNotifier, runsCleanup }: ServiceContext,
  { blobs, getLimits }: FilesModule,
) {
  const deps = { store, blobs, getLimits, notifier: jobNotifier, clock, log };
  const batches = createBatches(deps);
  const lifecycle = createBatchLifecycle(deps);
  const cleanup = runsCleanup ? startBatchCleanup(deps) : undefined;
  const time = createZonedTime(config.timezone);
  return {
    endpoints: createBatchEndpoints({ batches, time, strict: config.strict }),
    close: async () => cleanup?.close(),
    /** Creates the job handlers that run batches and send their completion callbacks. */
    async createJobHandlers({
      endpoints,
      catalogue,
      meter,
    }: BatchJobsDeps): Promise<Pick<JobHandlers, 'batch' | 'batch-callback'>> {
      const timeouts = { connectMs: CALLBACK_CONNECT_MS, headMs: CALLBACK_HEAD_MS, totalMs: CALLBACK_TOTAL_MS };
      return {
        batch: createBatchHandler({
          lifecycle,
          blobs,
          executeLine: createExecuteLine({
            endpoints,
            keys,
            limits: config.limits,
            ids: systemIdGenerator,
            clock,
            log,
            meter,
          }),
          isModel: (name, owner) => catalogue.find(name, owner) !== undefined,
          clock,
          log,
          concurrency: config.batches.concurrency,
        }),
        'batch-callback': createBatchCallbackHandler({
          lifecycle,
          post: createGuardedPost({ allow: config.callbacks.allow, timeouts }),
          secret: await readCallbackSecret(join(config.data, 'callback-secret')),
          encode: encodeBatch,
          clock,
        }),
      };
    },
  };
}

export type BatchesModule = ReturnType<typeof openBatches>;

/** Secret in the format of Standard Webhooks. */
const SECRET_PATTERN = /^whsec_([A-Za-z0-9+/]{32,}={0,2})$/;

/** Reads the callback secret; creates it at the first start. Receivers use it to verify that callbacks come from Parley. */
async function readCallbackSecret(file: string): Promise<Uint8Array> {
  const text = await readOrCreateSecret(file, () => `whsec_${randomBytes(32).toString('base64')}`);
  const [, secret] = SECRET_PATTERN.exec(text) ?? [];
  if (secret !== undefined) return Buffer.from(secret, 'base64');
  throw new ServiceError(
    'invalid-request',
    `${file} must contain whsec_ followed by at least 24 bytes in base64. Delete the file to create a new secret.`,
  );
}
