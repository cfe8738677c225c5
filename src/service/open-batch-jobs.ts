import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Catalogue } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import { ServiceError } from '../core/error.ts';
import { systemIds } from '../core/id.ts';
import { CALLBACK_CONNECT_MS, CALLBACK_HEAD_MS, CALLBACK_WHOLE_MS } from '../core/limits.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import type { JobHandlers } from '../jobs/handler.ts';
import { createBatchCallbackHandler } from '../jobs/kinds/batch-callback.ts';
import { createBatchHandler } from '../jobs/kinds/batch/batch-handler.ts';
import type { Clock } from '../lib/clock.ts';
import { createFile } from '../lib/durable-file.ts';
import { createGuardedPost } from '../net/guarded-post.ts';
import { encodeBatch } from '../protocols/compatible/batches/encode.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import type { BatchWork } from '../resources/batches/batch.ts';
import type { Keys } from '../resources/keys/key.ts';
import { createExecuteLine } from './execute-line.ts';

export interface BatchJobsNeeds {
  readonly config: Config;
  readonly work: BatchWork;
  readonly blobs: BlobStore;
  /** Those that requests are answered by: a line of a batch is one. */
  readonly endpoints: readonly Endpoint[];
  readonly keys: Pick<Keys, 'findActive'>;
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
}

/** Who does the work of batches, and tells of their ends. */
export async function openBatchJobs(needs: BatchJobsNeeds): Promise<Pick<JobHandlers, 'batch' | 'batch-callback'>> {
  const { config, work, blobs, endpoints, keys, catalogue, clock, log, meter } = needs;
  const timeouts = { connectMs: CALLBACK_CONNECT_MS, headMs: CALLBACK_HEAD_MS, wholeMs: CALLBACK_WHOLE_MS };
  return {
    batch: createBatchHandler({
      work,
      blobs,
      executeLine: createExecuteLine({ endpoints, keys, limits: config.limits, ids: systemIds, clock, log, meter }),
      isModel: (name, owner) => catalogue.find(name, owner) !== undefined,
      clock,
      log,
      concurrency: config.batches.concurrency,
    }),
    'batch-callback': createBatchCallbackHandler({
      work,
      post: createGuardedPost({ allow: config.callbacks.allow, timeouts }),
      secret: await callbackSecret(join(config.data, 'callback-secret')),
      encode: encodeBatch,
      clock,
    }),
  };
}

/** As Standard Webhooks write one. */
const SECRET = /^whsec_([A-Za-z0-9+/]{32,}={0,2})$/;

/** Made at the first start. Whoever receives callbacks needs it to know that they are ours. */
async function callbackSecret(file: string): Promise<Uint8Array> {
  await createFile(file, `whsec_${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  const [, secret] = SECRET.exec((await readFile(file, 'utf8')).trim()) ?? [];
  if (secret !== undefined) return Buffer.from(secret, 'base64');
  throw new ServiceError('invalid-request', `${file} must hold whsec_ and at least 24 bytes in base64.`);
}
