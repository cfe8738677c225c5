import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../test/until.ts';
import { createMessageCalls } from '../../lib/message-calls.ts';
import type { MessageCalls } from '../../lib/message-calls.ts';
import { errorCodec } from '../../core/error-codec.ts';
import { createQuotas } from '../../generation/quotas.ts';
import type { Quotas } from '../../generation/quotas.ts';
import type { PrimaryFunctions } from './protocol.ts';
import { createToldQuotas } from './told-quotas.ts';

type QuotaFunctions = Pick<PrimaryFunctions, 'quota.take' | 'quota.spend'>;

/** Workers beside one primary, over channels as real ones are. */
function createRoom() {
  const quotas = createQuotas({ monotonic: () => 0 });
  const messages: string[] = [];
  const join = (): Quotas => {
    const there: MessageCalls<object> = createMessageCalls<object, QuotaFunctions>({
      send: (message) => here.receive(structuredClone(message)),
      answers: {
        'quota.take': async (wish) => {
          messages.push('take');
          return (await quotas.take(wish)) ?? null;
        },
        'quota.spend'(spent) {
          messages.push('spend');
          for (const { subject, amounts } of spent) quotas.spend(subject, amounts);
        },
      },
      errors: errorCodec,
    });
    const here: MessageCalls<QuotaFunctions> = createMessageCalls<QuotaFunctions, object>({
      send: (message) => there.receive(structuredClone(message)),
      answers: {},
      errors: errorCodec,
    });
    return createToldQuotas(here);
  };
  return { join, messages, quotas };
}

const LIMITS = { rpm_limit: 3, output_tpm: 10 };
const wish = { subject: 's', limits: LIMITS, amounts: { rpm_limit: 1, output_tpm: 0 } };

test('a limit is one for all workers', async () => {
  const { join } = createRoom();
  const workers = [join(), join(), join()];
  for (const worker of workers) assert.equal(await worker.take(wish), undefined);
  for (const worker of workers)
    assert.deepEqual(await worker.take(wish), { kind: 'rpm_limit', limit: 3, retryAfterSeconds: 20 });
});

test('what answers use is told together, and before the next one asks here', async () => {
  const { join, messages } = createRoom();
  const [one, other] = [join(), join()];
  await one.take(wish);
  for (let token = 0; token < 12; token++) one.spend('s', { output_tpm: 1 });
  assert.deepEqual(messages, ['take']);
  assert.equal((await one.take(wish))?.kind, 'output_tpm');
  assert.deepEqual(messages, ['take', 'spend', 'take']);
  assert.equal((await other.take(wish))?.kind, 'output_tpm', 'the others hear of it, too');
});

test('what answers use is told without another request', async () => {
  const { join, quotas } = createRoom();
  const worker = join();
  const ask = { ...wish, amounts: { output_tpm: 0 } };
  await worker.take(ask);
  worker.spend('s', { output_tpm: 12 });
  const shortage = await until('what was told', { withinMs: 20_000 }, () => quotas.take(ask));
  assert.equal(shortage.kind, 'output_tpm');
});
