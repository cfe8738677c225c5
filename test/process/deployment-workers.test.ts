import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { until } from '../until.ts';

type Fields = Readonly<Record<string, unknown>>;

const PROGRAM = fileURLToPath(new URL('./__fixtures__/fake-chat-server.ts', import.meta.url));
const COMMAND = [process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM, '{port}', 'SERVER_KEY', '{name}'];
const CONFIG = `deployments: {drainMs: 3000}
models:
  svc-plus:
    command: ${JSON.stringify(COMMAND)}
    environment: { SERVER_KEY: '{key}' }
    upstreamModel: server-model
    contextTokens: 3000
`;
const TIMEOUT = { timeoutMs: 60_000 };

/** Number of connections. The chance that one of two workers gets none of them is 1 in 2^31. */
const CONNECTIONS = 32;

// A deployment of the plan `mu` has `capacity` units. With the engine llama, each unit is a process of COMMAND.
for (const engine of ['scripted', 'llama'] as const)
  describe(`deployments of a service with two workers, ${engine === 'scripted' ? 'scripted engine' : 'one process per unit'}`, () => {
    let parley: ParleyProcess;
    before(async () => {
      parley = await startParley({ engine, config: CONFIG, env: { PARLEY_WORKERS: '2' } });
    });
    after(() => parley.stop());

    /** Sends a request on a new connection, so that any worker may receive it. */
    const send = (method: string, path: string, body?: Fields): Promise<Response> =>
      fetch(`${parley.address}${path}`, {
        method,
        headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json', connection: 'close' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
    const call = async (method: string, path = '', body?: Fields) => {
      const response = await send(method, `/api/v1/deployments${path}`, body);
      return { status: response.status, output: ((await response.json()) as { output?: Fields }).output ?? {} };
    };
    const waitForStatus = (name: string, status: string, ready: number) =>
      until(`${name} ${status} ${ready}\n${parley.output()}`, TIMEOUT, async () => {
        const { output } = await call('GET', `/${name}`);
        return output['status'] === status && output['ready_capacity'] === ready ? output : undefined;
      });
    const sendChat = async (model: string, content = 'Hi') => {
      const messages = [{ role: 'user', content }];
      const response = await send('POST', '/compatible-mode/v1/chat/completions', { model, messages, stream: true });
      return { status: response.status, text: await response.text() };
    };
    const sendManyChats = (model: string) => Promise.all(Array.from({ length: CONNECTIONS }, () => sendChat(model)));
    /** Waits until all workers respond with a status. Each worker polls for changes about every second. */
    const waitForAllWorkers = (model: string, status: number) =>
      until(`all answer ${status}`, TIMEOUT, async () =>
        (await sendManyChats(model)).every((each) => each.status === status) ? true : undefined,
      );
    /** Counts log lines about ready programs of the deployment. */
    const countPrograms = (): number =>
      [...parley.output().matchAll(/"engine":"svc-plus-both .*"msg":"engine process ready"/g)].length;

    test('answer calls of both workers, with each unit started once', async () => {
      const { output } = await call('POST', '', { model_name: 'svc-plus', plan: 'mu', capacity: 2, suffix: 'both' });
      assert.equal(output['status'], 'PENDING');
      await waitForStatus('svc-plus-both', 'RUNNING', 2);
      await waitForAllWorkers('svc-plus-both', 200);
      const programsExpected = engine === 'scripted' ? 0 : 2;
      // Log lines may arrive after the responses.
      await until('log lines of both workers and of the programs', TIMEOUT, async () => {
        const logLines = parley
          .output()
          .matchAll(/"worker":(\d).*"operation":"chat-completions.create".*svc-plus-both/g);
        const workers = new Set([...logLines].map(([, worker]) => worker));
        return workers.size === 2 && countPrograms() >= programsExpected ? true : undefined;
      });
      assert.equal(countPrograms(), programsExpected);
    });

    test('are scaled during calls without a failed call', async () => {
      let isStopped = false;
      const statuses: number[] = [];
      const callers = Array.from({ length: 4 }, async () => {
        while (!isStopped)
          statuses.push((await sendChat('svc-plus-both', 'script:["one ",{"delayMs":50},"two"]')).status);
      });
      for (const capacity of [1, 3, 2]) {
        await call('PUT', '/svc-plus-both/scale', { capacity });
        await waitForStatus('svc-plus-both', 'RUNNING', capacity);
        const statusCount = statuses.length;
        await until('calls are answered', TIMEOUT, async () => (statuses.length > statusCount + 8 ? true : undefined));
      }
      isStopped = true;
      await Promise.all(callers);
      assert.deepEqual(new Set(statuses), new Set([200]));
    });

    test('refuse calls in both workers at capacity 0, and accept them again after scaling up', async () => {
      await call('PUT', '/svc-plus-both/scale', { capacity: 0 });
      await waitForStatus('svc-plus-both', 'STOPPED', 0);
      await waitForAllWorkers('svc-plus-both', 503);
      const message =
        /Deployment svc-plus-both cannot serve calls: its status is STOPPED\. Its capacity is 0; scale it up to use it\./;
      // A worker may learn of the change a moment later than the status of the deployment changes.
      await until('both workers report the reason', TIMEOUT, async () => {
        const texts = await Promise.all(Array.from({ length: 8 }, async () => (await sendChat('svc-plus-both')).text));
        return texts.every((text) => message.test(text)) ? true : undefined;
      });
      await call('PUT', '/svc-plus-both/scale', { capacity: 1 });
      await waitForStatus('svc-plus-both', 'RUNNING', 1);
      await waitForAllWorkers('svc-plus-both', 200);
    });

    // The process of COMMAND always answers at once, so only the scripted engine can hang.
    if (engine === 'scripted') {
      test('abort a stream that outlasts the drain time, with the reason', async () => {
        const response = sendChat('svc-plus-both', 'script:["one ",{"hang":true}]');
        await until('the stream runs', TIMEOUT, async () => {
          const text = await (await fetch(`${parley.address}/metrics`, { headers: { connection: 'close' } })).text();
          return /^parley_streams_in_flight 1$/m.test(text) ? true : undefined;
        });
        await call('PUT', '/svc-plus-both/scale', { capacity: 2 });
        assert.match((await response).text, /svc-plus-both was scaled or deleted/);
      });
    }

    test('are removed when no worker uses them any more', async () => {
      assert.equal((await call('DELETE', '/svc-plus-both')).status, 200);
      await until('the deployment is removed', TIMEOUT, async () =>
        (await call('GET', '/svc-plus-both')).status === 404 ? true : undefined,
      );
      await waitForAllWorkers('svc-plus-both', 404);
    });
  });
