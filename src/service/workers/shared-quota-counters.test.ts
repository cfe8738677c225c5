import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../test/until.ts';
import { createRpcPeer, type RpcPeer } from '../../lib/rpc-peer.ts';
import { errorCodec } from '../../core/error-codec.ts';
import { createQuotas, type Quotas } from '../../generation/quotas.ts';
import type { PrimaryFunctions } from './protocol.ts';
import { createSharedQuotaCounters } from './shared-quota-counters.ts';

type QuotaFunctions = Pick<PrimaryFunctions, 'quota.take' | 'quota.spend'>;

/** Creates test workers that share one primary, connected by message channels. */
function createTestWorkers() {
  const quotas = createQuotas({ monotonic: () => 0 });
  const messages: string[] = [];
  const join = (): Quotas => {
    const primarySide: RpcPeer<object> = createRpcPeer<object, QuotaFunctions>({
      send: (message) => workerSide.receive(structuredClone(message)),
      handlers: {
        'quota.take': async (request) => {
          messages.push('take');
          return (await quotas.take(request)) ?? null;
        },
        'quota.spend'(usage) {
          messages.push('spend');
          for (const { subject, amounts } of usage) quotas.spend(subject, amounts);
        },
      },
      errors: errorCodec,
    });
    const workerSide: RpcPeer<QuotaFunctions> = createRpcPeer<QuotaFunctions, object>({
      send: (message) => primarySide.receive(structuredClone(message)),
      handlers: {},
      errors: errorCodec,
    });
    return createSharedQuotaCounters(workerSide);
  };
  return { join, messages, quotas };
}

const LIMITS = { rpm_limit: 3, output_tpm: 10 };
const request = { subject: 's', limits: LIMITS, amounts: { rpm_limit: 1, output_tpm: 0 } };

test('applies one limit to all workers', async () => {
  const { join } = createTestWorkers();
  const workers = [join(), join(), join()];
  for (const worker of workers) assert.equal(await worker.take(request), undefined);
  for (const worker of workers)
    assert.deepEqual(await worker.take(request), { kind: 'rpm_limit', limit: 3, retryAfterSeconds: 20 });
});

test('reports usage in one message before the next request of the worker', async () => {
  const { join, messages } = createTestWorkers();
  const [one, other] = [join(), join()];
  await one.take(request);
  for (let token = 0; token < 12; token++) one.spend('s', { output_tpm: 1 });
  assert.deepEqual(messages, ['take']);
  assert.equal((await one.take(request))?.kind, 'output_tpm');
  assert.deepEqual(messages, ['take', 'spend', 'take']);
  assert.equal((await other.take(request))?.kind, 'output_tpm', 'other workers see the usage');
});

test('reports usage after an interval without another request', async () => {
  const { join, quotas } = createTestWorkers();
  const worker = join();
  const check = { ...request, amounts: { output_tpm: 0 } };
  await worker.take(check);
  worker.spend('s', { output_tpm: 12 });
  const shortage = await until('the reported usage', { timeoutMs: 20_000 }, () => quotas.take(check));
  assert.equal(shortage.kind, 'output_tpm');
});
