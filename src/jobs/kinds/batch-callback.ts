import { createHmac } from 'node:crypto';
import { ServiceError } from '../../core/error.ts';
import { CALLBACK_ANSWER_BYTES_MAX, CALLBACK_RETRY_MS_MAX, CALLBACK_RETRY_MS_MIN } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { unixSeconds } from '../../lib/clock.ts';
import type { GuardedPost } from '../../net/guarded-post.ts';
import { BATCH_CALLBACK, type BatchWork } from '../../resources/batches/batch.ts';
import type { BatchRecord } from '../../store/batches.ts';
import type { JobHandler } from '../handler.ts';

export interface BatchCallbackNeeds {
  readonly work: Pick<BatchWork, 'find'>;
  readonly post: GuardedPost;
  /** Whoever knows it can tell what comes from us. */
  readonly secret: Uint8Array;
  /** A batch as its owner is shown it. */
  readonly encode: (batch: BatchRecord) => object;
  readonly clock: Clock;
}

/**
 * Tells whoever the owner of a batch named (`ds_batch_finish_callback`) that it has ended, wire.md E9.3. Signed as Standard
 * Webhooks has it; tried again until an answer of class 2xx comes, so it may be told twice, each time with the same id.
 */
export function createBatchCallbackHandler({ work, post, secret, encode, clock }: BatchCallbackNeeds): JobHandler {
  return {
    retry: { firstMs: CALLBACK_RETRY_MS_MIN, mostMs: CALLBACK_RETRY_MS_MAX },
    async run({ job, signal }) {
      const batch = await work.find(job.subject);
      const url = batch?.metadata.get(BATCH_CALLBACK);
      if (!batch || url === undefined) return { type: 'done' };
      const id = `evt_${batch.id}`;
      const bytes = Buffer.from(JSON.stringify(eventOf(batch, { id, data: encode(batch) })));
      const { status } = await post(url, {
        type: 'application/json',
        bytes,
        headers: signatureOf({ id, at: unixSeconds(clock.now()), bytes, secret }),
        answerBytesMax: CALLBACK_ANSWER_BYTES_MAX,
        signal,
      });
      if (status >= 200 && status < 300) return { type: 'done' };
      throw new ServiceError('upstream-failed', `The callback of the batch answered ${status}.`);
    },
  };
}

/** CloudEvents in JSON, which is what the service that is followed here sends by its event bus. */
const eventOf = (batch: BatchRecord, { id, data }: { readonly id: string; readonly data: object }): object => ({
  specversion: '1.0',
  id,
  source: 'parley.batches',
  type: 'dashscope:System:BatchTaskFinish',
  time: new Date(batch.endedAt ?? batch.createdAt).toISOString(),
  datacontenttype: 'application/json',
  data: { task_id: batch.id, ...data },
});

/** https://www.standardwebhooks.com: over id, seconds and body, each as they go out. */
function signatureOf({
  id,
  at,
  bytes,
  secret,
}: {
  readonly id: string;
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly secret: Uint8Array;
}): Readonly<Record<string, string>> {
  const mac = createHmac('sha256', secret).update(`${id}.${at}.`).update(bytes).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': `v1,${mac}` };
}
