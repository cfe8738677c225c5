import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Catalogue } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import { ServiceError } from '../core/error.ts';
import { systemIdGenerator } from '../core/id.ts';
import { CALLBACK_CONNECT_MS, CALLBACK_HEAD_MS, CALLBACK_TOTAL_MS } from './limits.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import type { JobHandlers } from '../jobs/handler.ts';
import { createBatchCallbackHandler } from '../jobs/kinds/batch-callback-handler.ts';
import { createBatchHandler } from '../jobs/kinds/batch/batch-handler.ts';
import type { Clock } from '../lib/clock.ts';
import { createFile } from '../lib/durable-file.ts';
import { createGuardedPost } from '../net/guarded-post.ts';
import { encodeBatch } from '../protocols/compatible/batches/encode.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import type { BatchLifecycle } from '../resources/batches/batch.ts';
import type { Keys } from '../resources/keys/key.ts';
import { createExecuteLine } from './execute-line.ts';

export interface BatchJobsDeps {
  readonly config: Config;
  readonly work: BatchLifecycle;
  readonly blobs: BlobStore;
  /** The endpoints that also serve HTTP requests; each line of a batch is a request to one of them. */
  readonly endpoints: readonly Endpoint[];
  readonly keys: Pick<Keys, 'findActive'>;
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
}

/** Opens the job handlers that run batches and send their completion callbacks. */
export async function openBatchJobs(deps: BatchJobsDeps): Promise<Pick<JobHandlers, 'batch' | 'batch-callback'>> {
  const { config, work, blobs, endpoints, keys, catalogue, clock, log, meter } = deps;
  const timeouts = { connectMs: CALLBACK_CONNECT_MS, headMs: CALLBACK_HEAD_MS, totalMs: CALLBACK_TOTAL_MS };
  return {
    batch: createBatchHandler({
      lifecycle: work,
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
      lifecycle: work,
      post: createGuardedPost({ allow: config.callbacks.allow, timeouts }),
      secret: await readCallbackSecret(join(config.data, 'callback-secret')),
      encode: encodeBatch,
      clock,
    }),
  };
}

/** Secret in the format of Standard Webhooks. */
const SECRET_PATTERN = /^whsec_([A-Za-z0-9+/]{32,}={0,2})$/;

/** Reads the callback secret; creates it at the first start. Receivers use it to verify that callbacks come from Parley. */
async function readCallbackSecret(file: string): Promise<Uint8Array> {
  await createFile(file, `whsec_${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  const [, secret] = SECRET_PATTERN.exec((await readFile(file, 'utf8')).trim()) ?? [];
  if (secret !== undefined) return Buffer.from(secret, 'base64');
  throw new ServiceError(
    'invalid-request',
    `${file} must contain whsec_ followed by at least 24 bytes in base64. Delete the file to create a new secret.`,
  );
}
