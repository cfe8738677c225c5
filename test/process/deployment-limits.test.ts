import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { until } from '../until.ts';

type Fields = Readonly<Record<string, unknown>>;

const TIMEOUT = { timeoutMs: 60_000 };

/** Number of connections. The chance that one of two workers gets none of them is 1 in 2^31. */
const CONNECTIONS = 32;

describe('deployment limits of a service with two workers', () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({ engine: 'scripted', sequences: 8, env: { PARLEY_WORKERS: '2' } });
  });
  after(() => parley.stop());

  /** Sends a request on a new connection, so that any worker may receive it. */
  const send = (method: string, path: string, body?: Fields): Promise<Response> =>
    fetch(`${parley.address}${path}`, {
      method,
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json', connection: 'close' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const sendChat = async (model: string, content: string) => {
    const messages = [{ role: 'user', content }];
    const response = await send('POST', '/compatible-mode/v1/chat/completions', { model, messages });
    return { status: response.status, text: await response.text() };
  };
  const sendManyChats = (model: string, content = 'Hi') =>
    Promise.all(Array.from({ length: CONNECTIONS }, () => sendChat(model, content)));
  /** Creates a deployment and waits until both workers serve it. */
  const deploy = async (suffix: string, options: Fields): Promise<string> => {
    const response = await send('POST', '/api/v1/deployments', { model_name: 'svc-plus', suffix, ...options });
    assert.equal(response.status, 200);
    const name = `svc-plus-${suffix}`;
    await until(`${name} in both workers`, TIMEOUT, async () => {
      const counts = await Promise.all(
        Array.from({ length: CONNECTIONS }, () =>
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

  test('count the requests of both workers', async () => {
    const name = await deploy('requests', { plan: 'mu', capacity: 4, rpm_limit: 5 });
    const responses = await sendManyChats(name);
    const successCount = responses.filter(({ status }) => status === 200).length;
    // Another request is allowed every 12 s.
    assert.ok(successCount >= 5 && successCount <= 7, String(successCount));
    for (const { status, text } of responses)
      if (status !== 200) assert.match(text, /rpm_limit: deployment svc-plus-requests has 5 requests per minute/);
    await until('log lines of both workers', TIMEOUT, async () => {
      const logLines = parley.output().matchAll(/"worker":(\d).*svc-plus-requests/g);
      return new Set([...logLines].map(([, worker]) => worker)).size === 2 ? true : undefined;
    });
  });

  test('count the reserved tokens of both workers', async () => {
    const ptu_capacity = { input_tpm: 10_000, output_tpm: 600, thinking_output_tpm: 0 };
    const name = await deploy('tokens', { plan: 'ptu', ptu_capacity });
    assert.equal((await sendChat(name, 'script:[{"repeat":"w ","times":1500}]')).status, 200);
    // Tokens beyond one minute's reservation are a debt of the following requests.
    await until('both workers refuse', TIMEOUT, async () =>
      (await sendManyChats(name)).every(({ status, text }) => status === 429 && text.includes('output_tpm'))
        ? true
        : undefined,
    );
  });

  test('have metrics that sum up both workers', async () => {
    const readMetrics = async (): Promise<string> => (await fetch(`${parley.address}/metrics`)).text();
    const name = await deploy('metrics', { plan: 'mu', capacity: 4 });
    const responses = await sendManyChats(name);
    assert.ok(responses.every(({ status }) => status === 200));
    const labels = `region="cn-beijing",workspace="primary",deployment="${name}"`;
    await until('the sum', TIMEOUT, async () => {
      const text = await readMetrics();
      const line = `parley_deployment_requests_total{${labels},status="200",kind="none"} `;
      const at = text.indexOf(line);
      // Requests for token counts are included.
      return at >= 0 && Number(text.slice(at + line.length).split('\n')[0]) >= 2 * CONNECTIONS ? true : undefined;
    });
    // The last responses may still be in progress.
    await until('no request is in flight', TIMEOUT, async () =>
      (await readMetrics()).includes(`parley_deployment_requests_in_flight{${labels}} 0\n`) ? true : undefined,
    );
  });
});
