import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { until } from '../until.ts';

type Fields = Readonly<Record<string, unknown>>;

const PATIENCE = { withinMs: 60_000 };

/** So many connections meet every one of two workers, but for one time in 2^31. */
const MANY = 32;

describe('limits of deployments of a service with two workers', () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({ engine: 'scripted', sequences: 8, env: { PARLEY_WORKERS: '2' } });
  });
  after(() => parley.stop());

  /** On a connection of its own, so that any worker may get it. */
  const send = (method: string, path: string, body?: Fields): Promise<Response> =>
    fetch(`${parley.address}${path}`, {
      method,
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json', connection: 'close' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const chat = async (model: string, content: string) => {
    const messages = [{ role: 'user', content }];
    const response = await send('POST', '/compatible-mode/v1/chat/completions', { model, messages });
    return { status: response.status, text: await response.text() };
  };
  const chats = (model: string, content = 'Hi') =>
    Promise.all(Array.from({ length: MANY }, () => chat(model, content)));
  /** Resolves when each worker knows it. */
  const deploy = async (suffix: string, wish: Fields): Promise<string> => {
    const made = await send('POST', '/api/v1/deployments', { model_name: 'svc-plus', suffix, ...wish });
    assert.equal(made.status, 200);
    const name = `svc-plus-${suffix}`;
    await until(`${name} in either worker`, PATIENCE, async () => {
      const counts = await Promise.all(
        Array.from({ length: MANY }, () =>
          send('POST', '/apps/anthropic/v1/messages/count_tokens', {
            model: name,
            messages: [{ role: 'user', content: 'Hi' }],
          }),
        ),
      );
      return counts.every(({ status }) => status === 200) ? true : undefined;
    });
    return name;
  };

  test('of requests: there are as many as of one process', async () => {
    const name = await deploy('requests', { plan: 'mu', capacity: 4, rpm_limit: 5 });
    const answers = await chats(name);
    const served = answers.filter(({ status }) => status === 200).length;
    // One flows in every 12 s.
    assert.ok(served >= 5 && served <= 7, String(served));
    for (const { status, text } of answers)
      if (status !== 200) assert.match(text, /rpm_limit: deployment svc-plus-requests has 5 requests per minute/);
    await until('the log lines of both', PATIENCE, async () => {
      const told = parley.output().matchAll(/"worker":(\d).*svc-plus-requests/g);
      return new Set([...told].map(([, worker]) => worker)).size === 2 ? true : undefined;
    });
  });

  test('of reserved tokens: what one worker’s answers use is used for the other', async () => {
    const ptu_capacity = { input_tpm: 10_000, output_tpm: 600, thinking_output_tpm: 0 };
    const name = await deploy('tokens', { plan: 'ptu', ptu_capacity });
    assert.equal((await chat(name, 'script:[{"repeat":"w ","times":1500}]')).status, 200);
    // What it used beyond a minute's worth is owed by whoever comes.
    await until('both know', PATIENCE, async () =>
      (await chats(name)).every(({ status, text }) => status === 429 && text.includes('output_tpm')) ? true : undefined,
    );
  });

  test('metrics of both are one sum', async () => {
    const name = await deploy('metrics', { plan: 'mu', capacity: 4 });
    const answers = await chats(name);
    assert.ok(answers.every(({ status }) => status === 200));
    const labels = `region="cn-beijing",workspace="primary",deployment="${name}"`;
    await until('the sum', PATIENCE, async () => {
      const text = await (await send('GET', '/metrics')).text();
      const line = `parley_deployment_requests_total{${labels},status="200",kind="none"} `;
      const at = text.indexOf(line);
      // Counting tokens was counted as well.
      return at >= 0 && Number(text.slice(at + line.length).split('\n')[0]) >= 2 * MANY ? true : undefined;
    });
    // Those that were counted last may not have left yet.
    await until('none is in flight', PATIENCE, async () =>
      (await (await send('GET', '/metrics')).text()).includes(`parley_deployment_requests_in_flight{${labels}} 0\n`)
        ? true
        : undefined,
    );
  });
});
