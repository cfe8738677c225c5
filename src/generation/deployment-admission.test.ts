import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestDeployment, createTestPtuDeployment } from '../core/__fixtures__/test-deployments.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import type { Usage } from '../core/event.ts';
import { unlimitedAdmission, type AdmissionRequest } from './admission.ts';
import { createDeploymentAdmission } from './deployment-admission.ts';
import { createQuotas } from './quotas.ts';

const OWNER = { region: 'cn-beijing', workspace: 'w', keyId: 'k' } as const;
const USAGE: Usage = { promptTokens: 10, cachedTokens: 0, completionTokens: 7, reasoningTokens: 3 };

function createTestAdmission() {
  let now = 0;
  let running = 0;
  let requests = 0;
  const admission = createDeploymentAdmission({
    quotas: createQuotas({ monotonic: () => now }),
    inner: unlimitedAdmission,
    onRunStart() {
      running++;
      return () => void running--;
    },
  });
  const admit = (deployment: DeploymentRecord | undefined, more: Partial<AdmissionRequest> = {}) =>
    admission.admit({
      requestId: `r${++requests}`,
      owner: OWNER,
      model: 'm',
      choices: 1,
      ...(deployment ? { deployment } : {}),
      ...more,
    });
  /** Admits, runs and releases one request. */
  const run = async (deployment: DeploymentRecord, { input = 10, answer = 4, thought = 3, how = 'finished' } = {}) => {
    const permit = await admit(deployment);
    await permit.usageMeter?.start({ promptTokens: input, thinks: thought > 0 });
    permit.usageMeter?.recordOutput(thought, 'thought');
    permit.usageMeter?.recordOutput(answer, 'answer');
    const usage = {
      promptTokens: input,
      cachedTokens: 0,
      completionTokens: answer + thought,
      reasoningTokens: thought,
    };
    permit.release(usage, how === 'finished' ? 'finished' : 'failed');
  };
  return { admit, run, advanceClock: (seconds: number) => void (now += seconds * 1000), running: () => running };
}

const refused = (kind: string, names: RegExp) => (error: Error & { kind?: string; retryAfterSeconds?: number }) => {
  assert.equal(error.kind, kind);
  assert.match(error.message, names);
  assert.ok((error.retryAfterSeconds ?? 0) > 0);
  return true;
};

describe('createDeploymentAdmission', () => {
  it('gives reserved priority only to live requests of ptu deployments', async () => {
    const { admit } = createTestAdmission();
    assert.equal((await admit(createTestPtuDeployment())).priority, 'reserved');
    assert.equal((await admit(createTestPtuDeployment(), { priority: 'background' })).priority, undefined);
    assert.equal((await admit(createTestDeployment())).priority, undefined);
    assert.equal((await admit(undefined)).priority, undefined);
  });

  it('counts nothing without limits', async () => {
    const { admit } = createTestAdmission();
    assert.equal((await admit(undefined)).usageMeter, undefined);
    assert.equal((await admit(createTestDeployment())).usageMeter, undefined);
  });

  for (const [kind, ptu, use] of [
    ['input_tpm', { inputTpm: 60, outputTpm: 600, thinkingOutputTpm: 600 }, { input: 60 }],
    ['output_tpm', { inputTpm: 600, outputTpm: 60, thinkingOutputTpm: 600 }, { answer: 60 }],
    ['thinking_output_tpm', { inputTpm: 600, outputTpm: 600, thinkingOutputTpm: 60 }, { thought: 60 }],
  ] as const)
    it(`rejects a run when ${kind} is used up, names it, and admits one after enough time`, async () => {
      const { run, advanceClock } = createTestAdmission();
      const deployment = createTestPtuDeployment({ ptu });
      await run(deployment, use);
      await assert.rejects(
        run(deployment),
        refused(
          'token-quota',
          new RegExp(`^Allocated quota exceeded.*\\(${kind}: deployment m-ours has 60 tokens per minute; enough`),
        ),
      );
      advanceClock(10);
      await run(deployment, { input: 10, answer: 1, thought: 1 });
    });

  it('requires no thinking tokens for a run that does not think', async () => {
    const { run } = createTestAdmission();
    const deployment = createTestPtuDeployment({ ptu: { inputTpm: 600, outputTpm: 600, thinkingOutputTpm: 0 } });
    await assert.rejects(
      run(deployment),
      refused('token-quota', /thinking_output_tpm: deployment m-ours has 0 tokens/),
    );
    await run(deployment, { thought: 0 });
  });

  it('applies rpm_limit and tpm_limit to every plan and names them', async () => {
    const { run, advanceClock } = createTestAdmission();
    const one = createTestDeployment({ rpmLimit: 2 });
    await run(one);
    await run(one);
    await assert.rejects(
      run(one),
      refused('rate-limited', /^Requests rate limit exceeded.*\(rpm_limit: deployment m-ours has 2 requests/),
    );
    advanceClock(30);
    await run(one);
    const other = createTestPtuDeployment({ id: 'dep_2', tpmLimit: 17 });
    await run(other);
    await assert.rejects(run(other), refused('token-quota', /tpm_limit: deployment m-ours has 17 tokens/));
  });

  it('charges the input and output that the engine reports at the end', async () => {
    const { admit, run } = createTestAdmission();
    const deployment = createTestPtuDeployment({ ptu: { inputTpm: 100, outputTpm: 100, thinkingOutputTpm: 100 } });
    const permit = await admit(deployment);
    await permit.usageMeter?.start({ promptTokens: undefined, thinks: true });
    permit.usageMeter?.recordOutput(3, 'thought');
    // The engine also generates tokens without events, such as the marks between reasoning and answer.
    permit.release({ ...USAGE, promptTokens: 70, completionTokens: 53 }, 'finished');
    await assert.rejects(run(deployment, { input: 31 }), refused('token-quota', /input_tpm/));
    await run(deployment, { input: 29, answer: 50, thought: 97 });
    await assert.rejects(run(deployment, { input: 1 }), refused('token-quota', /\(output_tpm/));
  });

  it('charges the generated tokens of a run that failed', async () => {
    const { run } = createTestAdmission();
    const deployment = createTestPtuDeployment({ ptu: { inputTpm: 600, outputTpm: 10, thinkingOutputTpm: 600 } });
    await run(deployment, { answer: 10, how: 'failed' });
    await assert.rejects(run(deployment), refused('token-quota', /output_tpm: deployment m-ours has 10/));
  });

  it('charges nothing for a run that did not start', async () => {
    const { admit, run } = createTestAdmission();
    const deployment = createTestPtuDeployment({ ptu: { inputTpm: 20, outputTpm: 600, thinkingOutputTpm: 600 } });
    await run(deployment, { input: 10 });
    (await admit(deployment)).release({ promptTokens: 0, cachedTokens: 0, completionTokens: 0 }, 'failed');
    await run(deployment, { input: 10 });
    await assert.rejects(run(deployment), refused('token-quota', /input_tpm: deployment m-ours has 20/));
  });

  it('counts all runs of a request as one and rejects only the first', async () => {
    const { admit } = createTestAdmission();
    const deployment = createTestDeployment({ rpmLimit: 1, tpmLimit: 10 });
    const begin = async (requestId: string) => {
      const permit = await admit(deployment, { requestId });
      await permit.usageMeter?.start({ promptTokens: 10, thinks: false });
    };
    await begin('one');
    await begin('one');
    await assert.rejects(begin('two'), refused('token-quota', /tpm_limit/));
  });

  it('reports running deployments until their runs end for any reason', async () => {
    const { admit, running } = createTestAdmission();
    const permits = await Promise.all([
      admit(createTestDeployment()),
      admit(createTestPtuDeployment()),
      admit(undefined),
    ]);
    assert.equal(running(), 2);
    permits.forEach((permit, at) => permit.release(USAGE, at === 0 ? 'finished' : 'failed'));
    assert.equal(running(), 0);
  });
});
