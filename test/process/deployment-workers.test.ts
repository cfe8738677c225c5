import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { until } from '../until.ts';

type Fields = Readonly<Record<string, unknown>>;

const PROGRAM = fileURLToPath(new URL('./__fixtures__/chat-program.ts', import.meta.url));
const WORDS = [process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM, '{port}', 'THEIR_KEY', '{name}'];
const CONFIG = `deployments: {drainMs: 3000}
models:
  svc-plus:
    command: ${JSON.stringify(WORDS)}
    environment: { THEIR_KEY: '{key}' }
    upstreamModel: theirs
    contextTokens: 3000
`;
const PATIENCE = { withinMs: 60_000 };

/** So many connections meet every one of two workers, but for one time in 2^31. */
const MANY = 32;

for (const engine of ['scripted', 'llama'] as const)
  describe(`deployments of a service with two workers, ${engine === 'scripted' ? 'scripted' : 'each unit a program'}`, () => {
    let parley: ParleyProcess;
    before(async () => {
      parley = await startParley({ engine, config: CONFIG, env: { PARLEY_WORKERS: '2' } });
    });
    after(() => parley.stop());

    /** On a connection of its own, so that any worker may get it. */
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
    const settled = (name: string, status: string, ready: number) =>
      until(`${name} ${status} ${ready}\n${parley.output()}`, PATIENCE, async () => {
        const { output } = await call('GET', `/${name}`);
        return output['status'] === status && output['ready_capacity'] === ready ? output : undefined;
      });
    const chat = async (model: string, content = 'Hi') => {
      const messages = [{ role: 'user', content }];
      const response = await send('POST', '/compatible-mode/v1/chat/completions', { model, messages, stream: true });
      return { status: response.status, text: await response.text() };
    };
    const chats = (model: string) => Promise.all(Array.from({ length: MANY }, () => chat(model)));
    /** Until no worker answers otherwise: each hears of changes of others within a second. */
    const all = (model: string, status: number) =>
      until(`all answer ${status}`, PATIENCE, async () =>
        (await chats(model)).every((each) => each.status === status) ? true : undefined,
      );
    /** Of the deployment: how many of its programs have said that they are ready. */
    const programs = (): number =>
      [...parley.output().matchAll(/"engine":"svc-plus-both .*"msg":"engine process ready"/g)].length;

    test('are called through either worker, and made once', async () => {
      const { output } = await call('POST', '', { model_name: 'svc-plus', plan: 'mu', capacity: 2, suffix: 'both' });
      assert.equal(output['status'], 'PENDING');
      await settled('svc-plus-both', 'RUNNING', 2);
      await all('svc-plus-both', 200);
      const wanted = engine === 'scripted' ? 0 : 2;
      // Lines of the log may come behind the answers.
      await until('the log lines of both, and of the programs', PATIENCE, async () => {
        const told = parley.output().matchAll(/"worker":(\d).*"operation":"chat-completions.create".*svc-plus-both/g);
        const workers = new Set([...told].map(([, worker]) => worker));
        return workers.size === 2 && programs() >= wanted ? true : undefined;
      });
      assert.equal(programs(), wanted);
    });

    test('are scaled while they are called: what is begun ends, and no call fails', async () => {
      let isOver = false;
      const statuses: number[] = [];
      const callers = Array.from({ length: 4 }, async () => {
        while (!isOver) statuses.push((await chat('svc-plus-both', 'script:["one ",{"delayMs":50},"two"]')).status);
      });
      for (const capacity of [1, 3, 2]) {
        await call('PUT', '/svc-plus-both/scale', { capacity });
        await settled('svc-plus-both', 'RUNNING', capacity);
        const seen = statuses.length;
        await until('it is called', PATIENCE, async () => (statuses.length > seen + 8 ? true : undefined));
      }
      isOver = true;
      await Promise.all(callers);
      assert.deepEqual(new Set(statuses), new Set([200]));
    });

    test('take no calls at 0, in either worker, and take them again', async () => {
      await call('PUT', '/svc-plus-both/scale', { capacity: 0 });
      await settled('svc-plus-both', 'STOPPED', 0);
      await all('svc-plus-both', 503);
      const said =
        /Deployment svc-plus-both serves no calls: its status is STOPPED\. Its capacity is 0; scale it up to use it\./;
      // A worker hears of it half a second later.
      await until('both workers say why', PATIENCE, async () => {
        const texts = await Promise.all(Array.from({ length: 8 }, async () => (await chat('svc-plus-both')).text));
        return texts.every((text) => said.test(text)) ? true : undefined;
      });
      await call('PUT', '/svc-plus-both/scale', { capacity: 1 });
      await settled('svc-plus-both', 'RUNNING', 1);
      await all('svc-plus-both', 200);
    });

    // A program plays no script that hangs.
    if (engine === 'scripted') {
      test('break off what goes on for too long, with a word of why', async () => {
        const running = chat('svc-plus-both', 'script:["one ",{"hang":true}]');
        await until('it runs', PATIENCE, async () => {
          const text = await (await fetch(`${parley.address}/metrics`, { headers: { connection: 'close' } })).text();
          return /^parley_streams_in_flight 1$/m.test(text) ? true : undefined;
        });
        await call('PUT', '/svc-plus-both/scale', { capacity: 2 });
        assert.match((await running).text, /svc-plus-both was scaled or deleted/);
      });
    }

    test('go when no worker holds on to them', async () => {
      assert.equal((await call('DELETE', '/svc-plus-both')).status, 200);
      await until('it is gone', PATIENCE, async () =>
        (await call('GET', '/svc-plus-both')).status === 404 ? true : undefined,
      );
      await all('svc-plus-both', 404);
    });
  });
