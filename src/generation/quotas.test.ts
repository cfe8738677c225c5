import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { QUOTA_KINDS } from '../core/quota.ts';
import { createQuotas } from './quotas.ts';

function createTestQuotas() {
  let now = 0;
  return {
    quotas: createQuotas({ monotonic: () => now }),
    advanceClock: (seconds: number) => void (now += seconds * 1000),
  };
}

const LIMITS = { rpm_limit: 60, input_tpm: 600, output_tpm: 600 };

describe('createQuotas', () => {
  it('takes all amounts or none', async () => {
    const { quotas } = createTestQuotas();
    const ask = (input_tpm: number) =>
      quotas.take({ subject: 's', limits: LIMITS, amounts: { rpm_limit: 1, input_tpm } });
    assert.equal(await ask(600), undefined);
    assert.deepEqual(await ask(300), { kind: 'input_tpm', limit: 600, retryAfterSeconds: 30 });
    assert.deepEqual(await ask(1), { kind: 'input_tpm', limit: 600, retryAfterSeconds: 1 });
    // The rejected requests took nothing: 59 requests are left.
    for (let at = 0; at < 59; at++)
      assert.equal(await quotas.take({ subject: 's', limits: LIMITS, amounts: { rpm_limit: 1 } }), undefined);
    assert.equal((await quotas.take({ subject: 's', limits: LIMITS, amounts: { rpm_limit: 1 } }))?.kind, 'rpm_limit');
  });

  it('names the kind with the longest wait and the time until all are available', async () => {
    const { quotas, advanceClock } = createTestQuotas();
    const request = { subject: 's', limits: LIMITS, amounts: { rpm_limit: 1, input_tpm: 100, output_tpm: 0 } };
    assert.equal(await quotas.take(request), undefined);
    quotas.spend('s', { rpm_limit: 60, output_tpm: 1_200 });
    const shortage = await quotas.take(request);
    assert.deepEqual(shortage, { kind: 'output_tpm', limit: 600, retryAfterSeconds: 61 });
    advanceClock(60);
    assert.equal((await quotas.take(request))?.kind, 'output_tpm');
    advanceClock(1);
    assert.equal(await quotas.take(request), undefined);
  });

  it('counts each subject separately and ignores spending of unknown subjects', async () => {
    const { quotas } = createTestQuotas();
    const ask = (subject: string) => quotas.take({ subject, limits: LIMITS, amounts: { input_tpm: 600 } });
    quotas.spend('other', { input_tpm: 600 });
    assert.equal(await ask('s'), undefined);
    assert.equal((await ask('s'))?.kind, 'input_tpm');
    assert.equal(await ask('other'), undefined);
  });

  it('applies a changed or removed limit at once', async () => {
    const { quotas, advanceClock } = createTestQuotas();
    const amounts = { rpm_limit: 1 };
    const ask = (limits: object) => quotas.take({ subject: 's', limits, amounts });
    assert.equal(await ask({ rpm_limit: 1 }), undefined);
    assert.deepEqual(await ask({ rpm_limit: 1 }), { kind: 'rpm_limit', limit: 1, retryAfterSeconds: 60 });
    advanceClock(1);
    assert.equal((await ask({ rpm_limit: 120 }))?.kind, 'rpm_limit', 'nothing more is there, but it flows faster');
    advanceClock(1);
    assert.equal(await ask({ rpm_limit: 120 }), undefined);
    assert.equal(await ask({}), undefined);
    assert.equal((await ask({ rpm_limit: 0 }))?.kind, 'rpm_limit');
    assert.equal((await ask({ rpm_limit: 0 }))?.retryAfterSeconds, 600, 'which is never');
  });

  it('grants at most twice the limit of any kind within any minute', async () => {
    const step = fc.record({
      kind: fc.constantFrom(...QUOTA_KINDS),
      amount: fc.integer({ min: 1, max: 30 }),
      seconds: fc.double({ min: 0, max: 20, noNaN: true }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { quotas, advanceClock } = createTestQuotas();
        const limits = Object.fromEntries(QUOTA_KINDS.map((kind) => [kind, 30]));
        const given: { readonly kind: string; readonly at: number; readonly amount: number }[] = [];
        let at = 0;
        for (const { kind, amount, seconds } of steps) {
          advanceClock(seconds);
          at += seconds;
          const shortage = await quotas.take({ subject: 's', limits, amounts: { [kind]: amount } });
          if (!shortage) given.push({ kind, at, amount });
          const minute = given.filter((each) => each.kind === kind && each.at > at - 60);
          assert.ok(minute.reduce((sum, each) => sum + each.amount, 0) <= 60 + 1e-6);
        }
      }),
    );
  });
});
