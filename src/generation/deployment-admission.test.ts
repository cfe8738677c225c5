import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deploymentRecord, reservedRecord } from '../core/__fixtures__/deployment-record.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import type { Usage } from '../core/event.ts';
import type { AdmissionWish } from './admission.ts';
import { openAdmission } from './admission.ts';
import { createDeploymentAdmission } from './deployment-admission.ts';
import { createQuotas } from './quotas.ts';

const OWNER = { region: 'cn-beijing', workspace: 'w', keyId: 'k' } as const;
const USAGE: Usage = { promptTokens: 10, cachedTokens: 0, completionTokens: 7, reasoningTokens: 3 };

function createRoom() {
  let now = 0;
  let running = 0;
  let requests = 0;
  const admission = createDeploymentAdmission({
    quotas: createQuotas({ monotonic: () => now }),
    inner: openAdmission,
    running() {
      running++;
      return () => void running--;
    },
  });
  const admit = (deployment: DeploymentRecord | undefined, more: Partial<AdmissionWish> = {}) =>
    admission.admit({
      requestId: `r${++requests}`,
      owner: OWNER,
      model: 'm',
      choices: 1,
      ...(deployment ? { deployment } : {}),
      ...more,
    });
  /** A whole run. */
  const run = async (deployment: DeploymentRecord, { input = 10, answer = 4, thought = 3, how = 'finished' } = {}) => {
    const permit = await admit(deployment);
    await permit.count?.begin({ promptTokens: input, thinks: thought > 0 });
    permit.count?.produced(thought, 'thought');
    permit.count?.produced(answer, 'answer');
    const told = { promptTokens: input, cachedTokens: 0, completionTokens: answer + thought, reasoningTokens: thought };
    permit.release(told, how === 'finished' ? 'finished' : 'failed');
  };
  return { admit, run, pass: (seconds: number) => void (now += seconds * 1000), running: () => running };
}

const refused = (kind: string, names: RegExp) => (error: Error & { kind?: string; retryAfterSeconds?: number }) => {
  assert.equal(error.kind, kind);
  assert.match(error.message, names);
  assert.ok((error.retryAfterSeconds ?? 0) > 0);
  return true;
};

describe('admission to a deployment', () => {
  it('puts reserved requests before all others, but no background ones, and no others', async () => {
    const { admit } = createRoom();
    assert.equal((await admit(reservedRecord())).priority, 'reserved');
    assert.equal((await admit(reservedRecord(), { priority: 'background' })).priority, undefined);
    assert.equal((await admit(deploymentRecord())).priority, undefined);
    assert.equal((await admit(undefined)).priority, undefined);
  });

  it('counts nothing where nothing is limited', async () => {
    const { admit } = createRoom();
    assert.equal((await admit(undefined)).count, undefined);
    assert.equal((await admit(deploymentRecord())).count, undefined);
  });

  for (const [kind, ptu, use] of [
    ['input_tpm', { inputTpm: 60, outputTpm: 600, thinkingOutputTpm: 600 }, { input: 60 }],
    ['output_tpm', { inputTpm: 600, outputTpm: 60, thinkingOutputTpm: 600 }, { answer: 60 }],
    ['thinking_output_tpm', { inputTpm: 600, outputTpm: 600, thinkingOutputTpm: 60 }, { thought: 60 }],
  ] as const)
    it(`refuses what is over ${kind}, which it names, until it has flowed in again`, async () => {
      const { run, pass } = createRoom();
      const deployment = reservedRecord({ ptu });
      await run(deployment, use);
      await assert.rejects(
        run(deployment),
        refused(
          'token-quota',
          new RegExp(`^Allocated quota exceeded.*\\(${kind}: deployment m-ours has 60 tokens per minute, and enough`),
        ),
      );
      pass(10);
      await run(deployment, { input: 10, answer: 1, thought: 1 });
    });

  it('asks for no thinking tokens where nothing is thought', async () => {
    const { run } = createRoom();
    const deployment = reservedRecord({ ptu: { inputTpm: 600, outputTpm: 600, thinkingOutputTpm: 0 } });
    await assert.rejects(
      run(deployment),
      refused('token-quota', /thinking_output_tpm: deployment m-ours has 0 tokens/),
    );
    await run(deployment, { thought: 0 });
  });

  it('holds every plan to limits of requests and tokens, and names them', async () => {
    const { run, pass } = createRoom();
    const one = deploymentRecord({ rpmLimit: 2 });
    await run(one);
    await run(one);
    await assert.rejects(
      run(one),
      refused('rate-limited', /^Requests rate limit exceeded.*\(rpm_limit: deployment m-ours has 2 requests/),
    );
    pass(30);
    await run(one);
    const other = reservedRecord({ id: 'dep_2', tpmLimit: 17 });
    await run(other);
    await assert.rejects(run(other), refused('token-quota', /tpm_limit: deployment m-ours has 17 tokens/));
  });

  it('takes input exactly as the engine read it, and output as its account says', async () => {
    const { admit, run } = createRoom();
    const deployment = reservedRecord({ ptu: { inputTpm: 100, outputTpm: 100, thinkingOutputTpm: 100 } });
    const permit = await admit(deployment);
    await permit.count?.begin({ promptTokens: undefined, thinks: true });
    permit.count?.produced(3, 'thought');
    // What nobody saw was produced as well, such as the marks between thought and answer.
    permit.release({ ...USAGE, promptTokens: 70, completionTokens: 53 }, 'finished');
    await assert.rejects(run(deployment, { input: 31 }), refused('token-quota', /input_tpm/));
    await run(deployment, { input: 29, answer: 50, thought: 97 });
    await assert.rejects(run(deployment, { input: 1 }), refused('token-quota', /\(output_tpm/));
  });

  it('keeps what was produced of a run that broke off', async () => {
    const { run } = createRoom();
    const deployment = reservedRecord({ ptu: { inputTpm: 600, outputTpm: 10, thinkingOutputTpm: 600 } });
    await run(deployment, { answer: 10, how: 'failed' });
    await assert.rejects(run(deployment), refused('token-quota', /output_tpm: deployment m-ours has 10/));
  });

  it('takes nothing for a run that did not begin', async () => {
    const { admit, run } = createRoom();
    const deployment = reservedRecord({ ptu: { inputTpm: 20, outputTpm: 600, thinkingOutputTpm: 600 } });
    await run(deployment, { input: 10 });
    (await admit(deployment)).release({ promptTokens: 0, cachedTokens: 0, completionTokens: 0 }, 'failed');
    await run(deployment, { input: 10 });
    await assert.rejects(run(deployment), refused('token-quota', /input_tpm: deployment m-ours has 20/));
  });

  it('counts the runs of one request as one, and refuses only the first', async () => {
    const { admit } = createRoom();
    const deployment = deploymentRecord({ rpmLimit: 1, tpmLimit: 10 });
    const begin = async (requestId: string) => {
      const permit = await admit(deployment, { requestId });
      await permit.count?.begin({ promptTokens: 10, thinks: false });
    };
    await begin('one');
    await begin('one');
    await assert.rejects(begin('two'), refused('token-quota', /tpm_limit/));
  });

  it('knows what runs, whatever ends it', async () => {
    const { admit, running } = createRoom();
    const permits = await Promise.all([admit(deploymentRecord()), admit(reservedRecord()), admit(undefined)]);
    assert.equal(running(), 2);
    permits.forEach((permit, at) => permit.release(USAGE, at === 0 ? 'finished' : 'failed'));
    assert.equal(running(), 0);
  });
});
