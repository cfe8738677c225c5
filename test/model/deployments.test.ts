import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { LLAMA_SERVER_FOLDER, lacksLlamaServer } from '../llama-server.ts';
import { lacksWeights } from '../models-folder.ts';
import { DEPLOYMENT_ENGINE_BYTES, DEPLOYMENT_SEQUENCES_MAX, DEPLOYMENT_UNIT_BYTES } from '../../src/core/limits.ts';
import { readModelShape } from '../../src/weights/gguf-head.ts';
import { until } from '../until.ts';
import { TINY, weightsFile } from './weights.ts';

type Fields = Readonly<Record<string, unknown>>;

const PATIENCE = { withinMs: 60_000 };

/** What stands in a file of a process; empty where it has ended. */
function told(pid: number, file: 'cmdline' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

const parentOf = (pid: number): number =>
  Number(
    told(pid, 'stat')
      .replace(/^.*\) \S /, '')
      .split(' ')[0] ?? 0,
  );

/** Processes with this on their command line that a service has started, directly or not, and that are alive. */
function pidsOf({ pid: service }: Parley, words: string): readonly number[] {
  const isOurs = (pid: number): boolean => pid > 1 && (pid === service || isOurs(parentOf(pid)));
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1 && told(pid, 'cmdline').replaceAll('\0', ' ').includes(words) && isOurs(pid));
}

/** Deployments of a service, and calls of them. */
function deskOf(parley: Parley) {
  const send = (method: string, path: string, body?: Fields): Promise<Response> =>
    fetch(`${parley.address}${path}`, {
      method,
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const call = async (method: string, path = '', body?: Fields): Promise<{ status: number; output: Fields }> => {
    const response = await send(method, `/api/v1/deployments${path}`, body);
    return { status: response.status, output: ((await response.json()) as { output?: Fields }).output ?? {} };
  };
  return {
    call,
    create: (suffix: string, more: Fields) =>
      call('POST', '', { model_name: 'svc-tiny', plan: 'mu', suffix, max_context_length: 512, ...more }),
    scale: (name: string, capacity: number) => call('PUT', `/${name}/scale`, { capacity }),
    settled: (name: string, status: string, ready: number) =>
      until(`${name} ${status} ${ready}`, PATIENCE, async () => {
        const { output } = await call('GET', `/${name}`);
        return output['status'] === status && output['ready_capacity'] === ready ? output : undefined;
      }),
    async remove(name: string): Promise<void> {
      await call('DELETE', `/${name}`);
      await until(`the end of ${name}`, PATIENCE, async () =>
        (await call('GET', `/${name}`)).status === 404 ? true : undefined,
      );
    },
    /** When an answer has begun and ended, in ms. */
    async chat(model: string): Promise<{ from: number; to: number }> {
      const messages = [{ role: 'user', content: 'Tell me a story.' }];
      const body = { model, messages, stream: true, max_tokens: 40 };
      const response = await send('POST', '/compatible-mode/v1/chat/completions', body);
      assert.equal(response.status, 200);
      let from: number | undefined;
      for await (const bytes of response.body ?? assert.fail())
        if (Buffer.from(bytes).includes('"content":"')) from ??= performance.now();
      return { from: from ?? assert.fail(), to: performance.now() };
    },
  };
}

const isNoLinux = process.platform !== 'linux';

describe('a deployment in the embedded engine', { skip: lacksWeights('svc-tiny') || isNoLinux }, () => {
  let parley: ParleyProcess;
  let desk: ReturnType<typeof deskOf>;
  before(async () => {
    parley = await startParley({ config: 'deployments: {drainMs: 5000}\n' });
    desk = deskOf(parley);
  });
  after(() => parley.stop());

  const engines = (): readonly number[] => pidsOf(parley, 'engines/llama/process');
  const untilEngines = (count: number) =>
    until(`${count} processes`, PATIENCE, async () => (engines().length === count ? true : undefined));

  test('has a process of its own, which comes again when it ends, and ends with the deployment', async () => {
    const name = 'svc-tiny-own';
    const others = engines();
    await desk.create('own', { capacity: 2 });
    await desk.settled(name, 'RUNNING', 2);
    const own = engines().filter((pid) => !others.includes(pid));
    assert.equal(own.length, 1);

    await until('two answers at once', PATIENCE, async () => {
      const answers = await Promise.all([desk.chat(name), desk.chat(name)]);
      // Each has begun before the other one ended.
      return Math.max(...answers.map(({ from }) => from)) < Math.min(...answers.map(({ to }) => to)) ? true : undefined;
    });

    // How long none is ready depends on the machine: it may be shorter than from one look of the service to the next.
    process.kill(own[0] ?? assert.fail(), 'SIGKILL');
    await until('another process', PATIENCE, async () =>
      engines().some((pid) => !others.includes(pid) && !own.includes(pid)) ? true : undefined,
    );
    await desk.settled(name, 'RUNNING', 2);
    await desk.chat(name);

    await desk.scale(name, 3);
    await desk.settled(name, 'RUNNING', 3);
    await untilEngines(others.length + 1);

    await desk.scale(name, 0);
    await desk.settled(name, 'STOPPED', 0);
    await untilEngines(others.length);
    await desk.scale(name, 1);
    await desk.settled(name, 'RUNNING', 1);
    await desk.remove(name);
    assert.equal(engines().length, others.length);
  });

  test('has as many units as one process can have, says why, and takes no more memory than was reckoned with', async () => {
    const others = engines();
    const contextTokens = 256;
    await desk.create('huge', { capacity: 999, max_context_length: contextTokens });
    await desk.settled('svc-tiny-huge', 'RUNNING', DEPLOYMENT_SEQUENCES_MAX);
    await parley.outputWith(/"deployment":"svc-tiny-huge",.*"reason":"One engine process has at most 256 units/);
    const [own = assert.fail()] = engines().filter((pid) => !others.includes(pid));
    const file = weightsFile(TINY) ?? assert.fail();
    const { cacheBytesPerToken } = (await readModelShape(file)) ?? assert.fail();
    const reckoned = statSync(file).size + DEPLOYMENT_SEQUENCES_MAX * contextTokens * cacheBytesPerToken;
    const taken = 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${own}/status`, 'utf8'))?.[1]);
    const more = DEPLOYMENT_ENGINE_BYTES + DEPLOYMENT_SEQUENCES_MAX * DEPLOYMENT_UNIT_BYTES;
    assert.ok(taken <= reckoned + more, `${taken} bytes taken, ${reckoned} reckoned`);
    assert.ok(taken > reckoned / 2, `${taken} bytes taken, ${reckoned} reckoned`);
    await desk.remove('svc-tiny-huge');
  });
});

const lacksServer = lacksWeights('svc-tiny') || lacksLlamaServer() || isNoLinux;

test(
  "a deployment in llama.cpp's own server has one for each unit, and none when it or the service has gone",
  { skip: lacksServer },
  async (context) => {
    const llamaServer = join(LLAMA_SERVER_FOLDER, 'llama-server');
    const parley = await startParley({ config: `engine: { prefer: llama-server, llamaServer: '${llamaServer}' }\n` });
    context.after(() => told(parley.pid, 'cmdline') !== '' && process.kill(parley.pid, 'SIGKILL'));
    const desk = deskOf(parley);
    const servers = (): readonly number[] => pidsOf(parley, '--alias svc-tiny');
    const name = 'svc-tiny-own';
    await desk.create('own', { capacity: 2 });
    await desk.settled(name, 'RUNNING', 2);
    const two = servers();
    assert.equal(two.length, 2);
    await desk.chat(name);
    await desk.scale(name, 3);
    await desk.settled(name, 'RUNNING', 3);
    assert.equal(servers().length, 3);
    assert.ok(
      two.every((pid) => servers().includes(pid)),
      'those that serve stay',
    );
    await desk.scale(name, 1);
    await desk.settled(name, 'RUNNING', 1);
    await until('one server', PATIENCE, async () => (servers().length === 1 ? true : undefined));
    await desk.chat(name);
    await desk.remove(name);
    assert.equal(servers().length, 0);

    await desk.create('last', { capacity: 1 });
    await desk.settled('svc-tiny-last', 'RUNNING', 1);
    const [last = assert.fail()] = servers();
    await parley.stop();
    assert.equal(told(last, 'cmdline'), '');
  },
);
