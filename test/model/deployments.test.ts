import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { LLAMA_SERVER_FOLDER, getLlamaServerSkipReason } from '../llama-server.ts';
import { getWeightsSkipReason } from '../models-folder.ts';
import {
  DEPLOYMENT_ENGINE_BYTES,
  DEPLOYMENT_SEQUENCES_MAX,
  DEPLOYMENT_UNIT_BYTES,
} from '../../src/service/deployments/limits.ts';
import { readModelShape } from '../../src/weights/read-model-shape.ts';
import { until } from '../until.ts';
import { TINY, findWeightsFile } from './weights.ts';

type Fields = Readonly<Record<string, unknown>>;

const WAIT = { timeoutMs: 60_000 };

/** Reads a file in /proc of a process. Returns an empty string when the process has ended. */
function readProcessFile(pid: number, file: 'cmdline' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

const getParentPid = (pid: number): number =>
  Number(
    readProcessFile(pid, 'stat')
      .replace(/^.*\) \S /, '')
      .split(' ')[0] ?? 0,
  );

/** Finds the running processes that a service started, directly or indirectly, by a part of their command line. */
function findDescendantPids({ pid: service }: Parley, commandLinePart: string): readonly number[] {
  const isDescendant = (pid: number): boolean => pid > 1 && (pid === service || isDescendant(getParentPid(pid)));
  return readdirSync('/proc')
    .map(Number)
    .filter(
      (pid) =>
        pid > 1 && readProcessFile(pid, 'cmdline').replaceAll('\0', ' ').includes(commandLinePart) && isDescendant(pid),
    );
}

/** Creates a client that manages the deployments of a service and sends chats to them. */
function createDeploymentClient(parley: Parley) {
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
    waitForStatus: (name: string, status: string, ready: number) =>
      until(`${name} ${status} ${ready}`, WAIT, async () => {
        const { output } = await call('GET', `/${name}`);
        return output['status'] === status && output['ready_capacity'] === ready ? output : undefined;
      }),
    async remove(name: string): Promise<void> {
      await call('DELETE', `/${name}`);
      await until(`${name} is deleted`, WAIT, async () =>
        (await call('GET', `/${name}`)).status === 404 ? true : undefined,
      );
    },
    /** Streams an answer. Returns the times of its first text and of its end, in ms. */
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

const isNotLinux = process.platform !== 'linux';

describe('a deployment in the embedded engine', { skip: getWeightsSkipReason('svc-tiny') || isNotLinux }, () => {
  let parley: ParleyProcess;
  let deployments: ReturnType<typeof createDeploymentClient>;
  before(async () => {
    parley = await startParley({
      config: `deployments: { drainMs: 5000 }\nmodels: { svc-plus: { weights: ${TINY} } }\n`,
    });
    deployments = createDeploymentClient(parley);
  });
  after(() => parley.stop());

  const findEnginePids = (): readonly number[] => findDescendantPids(parley, 'engines/llama/process');
  const waitForEngineCount = (count: number) =>
    until(`${count} processes`, WAIT, async () => (findEnginePids().length === count ? true : undefined));

  test('runs in its own process, which is restarted when it dies and ends with the deployment', async () => {
    const name = 'svc-tiny-own';
    const otherPids = findEnginePids();
    await deployments.create('own', { capacity: 2 });
    await deployments.waitForStatus(name, 'RUNNING', 2);
    const ownPids = findEnginePids().filter((pid) => !otherPids.includes(pid));
    assert.equal(ownPids.length, 1);

    await until('two answers at once', WAIT, async () => {
      const answers = await Promise.all([deployments.chat(name), deployments.chat(name)]);
      // The two answers overlap in time.
      return Math.max(...answers.map(({ from }) => from)) < Math.min(...answers.map(({ to }) => to)) ? true : undefined;
    });

    // The status is not checked here: a fast machine restarts the process between two polls of the service.
    process.kill(ownPids[0] ?? assert.fail(), 'SIGKILL');
    await until('another process', WAIT, async () =>
      findEnginePids().some((pid) => !otherPids.includes(pid) && !ownPids.includes(pid)) ? true : undefined,
    );
    await deployments.waitForStatus(name, 'RUNNING', 2);
    await deployments.chat(name);

    await deployments.scale(name, 3);
    await deployments.waitForStatus(name, 'RUNNING', 3);
    await waitForEngineCount(otherPids.length + 1);

    await deployments.scale(name, 0);
    await deployments.waitForStatus(name, 'STOPPED', 0);
    await waitForEngineCount(otherPids.length);
    await deployments.scale(name, 1);
    await deployments.waitForStatus(name, 'RUNNING', 1);
    await deployments.remove(name);
    assert.equal(findEnginePids().length, otherPids.length);
  });

  test('has at most the units of one process, logs why, and stays within the estimated memory', async () => {
    const otherPids = findEnginePids();
    const contextTokens = 256;
    await deployments.create('huge', { capacity: 999, max_context_length: contextTokens });
    await deployments.waitForStatus('svc-tiny-huge', 'RUNNING', DEPLOYMENT_SEQUENCES_MAX);
    await parley.waitForOutput(/"deployment":"svc-tiny-huge",.*"reason":"One engine process has at most 256 units/);
    const [ownPid = assert.fail()] = findEnginePids().filter((pid) => !otherPids.includes(pid));
    const file = findWeightsFile(TINY) ?? assert.fail();
    const { cacheBytesPerToken } = (await readModelShape(file)) ?? assert.fail();
    const expectedBytes = statSync(file).size + DEPLOYMENT_SEQUENCES_MAX * contextTokens * cacheBytesPerToken;
    const residentBytes = 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${ownPid}/status`, 'utf8'))?.[1]);
    const overheadBytes = DEPLOYMENT_ENGINE_BYTES + DEPLOYMENT_SEQUENCES_MAX * DEPLOYMENT_UNIT_BYTES;
    assert.ok(
      residentBytes <= expectedBytes + overheadBytes,
      `${residentBytes} bytes resident, ${expectedBytes} expected`,
    );
    assert.ok(residentBytes > expectedBytes / 2, `${residentBytes} bytes resident, ${expectedBytes} expected`);
    await deployments.remove('svc-tiny-huge');
  });
});

const serverSkipReason = getWeightsSkipReason('svc-tiny') || getLlamaServerSkipReason() || isNotLinux;

test(
  'a deployment in llama-server has one process per unit, which end with the deployment and with the service',
  { skip: serverSkipReason },
  async (context) => {
    const llamaServer = join(LLAMA_SERVER_FOLDER, 'llama-server');
    const parley = await startParley({
      config: [
        `engine: { prefer: llama-server, llamaServer: '${llamaServer}' }`,
        `models: { svc-plus: { weights: ${TINY} } }`,
        '',
      ].join('\n'),
    });
    context.after(() => readProcessFile(parley.pid, 'cmdline') !== '' && process.kill(parley.pid, 'SIGKILL'));
    const deployments = createDeploymentClient(parley);
    const findServerPids = (): readonly number[] => findDescendantPids(parley, '--alias svc-tiny');
    const name = 'svc-tiny-own';
    await deployments.create('own', { capacity: 2 });
    await deployments.waitForStatus(name, 'RUNNING', 2);
    const firstPids = findServerPids();
    assert.equal(firstPids.length, 2);
    await deployments.chat(name);
    await deployments.scale(name, 3);
    await deployments.waitForStatus(name, 'RUNNING', 3);
    assert.equal(findServerPids().length, 3);
    assert.ok(
      firstPids.every((pid) => findServerPids().includes(pid)),
      'the running servers keep running',
    );
    await deployments.scale(name, 1);
    await deployments.waitForStatus(name, 'RUNNING', 1);
    await until('one server', WAIT, async () => (findServerPids().length === 1 ? true : undefined));
    await deployments.chat(name);
    await deployments.remove(name);
    assert.equal(findServerPids().length, 0);

    await deployments.create('last', { capacity: 1 });
    await deployments.waitForStatus('svc-tiny-last', 'RUNNING', 1);
    const [lastPid = assert.fail()] = findServerPids();
    await parley.stop();
    assert.equal(readProcessFile(lastPid, 'cmdline'), '');
  },
);
