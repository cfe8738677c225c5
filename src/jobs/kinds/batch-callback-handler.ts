import { createHmac } from 'node:crypto';
import { ServiceError } from '../../core/error.ts';
import { CALLBACK_ANSWER_BYTES_MAX, CALLBACK_RETRY_MS_MAX, CALLBACK_RETRY_MS_MIN } from './limits.ts';
import { toUnixSeconds, type Clock } from '../../lib/clock.ts';
import type { GuardedPost } from '../../net/guarded-post.ts';
import { BATCH_CALLBACK_KEY, type BatchLifecycle } from '../../resources/batches/batch.ts';
import type { BatchRecord } from '../../store/batches.ts';
import type { JobHandler } from '../handler.ts';

export interface BatchCallbackDeps {
  readonly lifecycle: Pick<BatchLifecycle, 'find'>;
  readonly post: GuardedPost;
  /** Signs callbacks: receivers that know the secret can verify them. */
  readonly secret: Uint8Array;
  /** Encodes a batch as its owner sees it through the API. */
  readonly encode: (batch: BatchRecord) => object;
  readonly clock: Clock;
}

/**
 * Sends the callback that the owner of a batch requested (`ds_batch_finish_callback`,
 * docs/wire/openai-compatible.md#batches) when the batch has ended. Signed according to Standard Webhooks; retried
 * until a 2xx response, so that a receiver may get the callback twice, with the same ID.
 */
export function createBatchCallbackHandler({ lifecycle, post, secret, encode, clock }: BatchCallbackDeps): JobHandler {
  return {
    backoff: { minMs: CALLBACK_RETRY_MS_MIN, maxMs: CALLBACK_RETRY_MS_MAX },
    async run({ job, signal }) {
      const batch = await lifecycle.find(job.subject);
      const url = batch?.metadata.get(BATCH_CALLBACK_KEY);
      if (!batch || url === undefined) return { type: 'done' };
      const id = `evt_${batch.id}`;
      const bytes = Buffer.from(JSON.stringify(encodeEvent(batch, { id, data: encode(batch) })));
      const { status } = await post(url, {
        type: 'application/json',
        bytes,
        headers: signWebhook({ id, at: toUnixSeconds(clock.now()), bytes, secret }),
        responseBytesMax: CALLBACK_ANSWER_BYTES_MAX,
        signal,
      });
      if (status >= 200 && status < 300) return { type: 'done' };
      throw new ServiceError('upstream-failed', `The callback URL of the batch answered with status ${status}.`);
    },
  };
}

/** Encodes a CloudEvents JSON event, as DashScope's event bus sends it. */
const encodeEvent = (batch: BatchRecord, { id, data }: { readonly id: string; readonly data: object }): object => ({
  specversion: '1.0',
  id,
  source: 'parley.batches',
  type: 'dashscope:System:BatchTaskFinish',
  time: new Date(batch.endedAt ?? batch.createdAt).toISOString(),
  datacontenttype: 'application/json',
  data: { task_id: batch.id, ...data },
});

/** Signs ID, time in seconds and body as sent. Source: https://www.standardwebhooks.com. */
function signWebhook({
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
