import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RemoteOptions } from '../catalogue/model.ts';
import type { RunningProgram } from '../engines/command/command-server.ts';
import type { EngineRequest, EngineRun } from '../engines/engine.ts';
import { createTestRequest } from '../engines/pool/__fixtures__/fake-engine.ts';
import { FULL_TEXT, respondFully, startFakeUpstreamServer } from '../engines/pool/__fixtures__/fake-upstream-server.ts';
import type { SupervisedProcess } from '../engines/supervisor.ts';
import { systemClock } from '../lib/clock.ts';
import { TEST_LLAMA_SETTINGS } from './deployments/__fixtures__/llama-settings.ts';
import { TEST_ENTRY } from './deployments/__fixtures__/fake-units.ts';
import { SILENT_LOG } from './open-components.ts';
import { createProgramEngine, type ProgramPlan } from './server-engines.ts';

const NEVER = new AbortController().signal;

const createRequest = (workspace: string, choices = 1): EngineRequest => ({
  ...createTestRequest(),
  owner: { workspace, key: 'k' },
  choices,
});

/** Creates the engine of a program that runs already. */
async function createEngine(url: string, options: Partial<RemoteOptions>) {
  const remote = { model: 'their-model', input: 'chat', forward: [], timeouts: {}, family: 'template' } as const;
  const plan: ProgramPlan = {
    command: ['serve'],
    model: 'm',
    args: [],
    environment: {},
    contextTokens: 4_096,
    remote: { ...remote, ...options },
  };
  const running: RunningProgram = { url: url.replace(/\/v1$/, ''), apiKey: 'key' };
  const server: SupervisedProcess<RunningProgram> = {
    waitUntilReady: async () => running,
    confirmExit: async () => false,
    state: 'ready',
    stop: async () => undefined,
  };
  const { engine } = await createProgramEngine(TEST_ENTRY, plan, {
    ...TEST_LLAMA_SETTINGS,
    runFolder: '',
    sequences: 4,
    environment: {},
    log: SILENT_LOG,
    clock: systemClock,
    onToken: () => undefined,
    openServer: async () => server,
  });
  return engine;
}

async function collectText({ batches }: EngineRun): Promise<string> {
  let collected = '';
  for await (const batch of batches) for (const event of batch) if (event.type === 'text') collected += event.text;
  return collected;
}

describe('createProgramEngine', () => {
  it('shares the stated sequences of a program that gets messages, and leaves one to other workspaces', async () => {
    const arrivals: (() => void)[] = [];
    const server = await startFakeUpstreamServer(
      (response, request) => void arrivals.push(() => respondFully(response, request)),
    );
    const arrived = async (count: number): Promise<void> => {
      while (arrivals.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    const engine = await createEngine(server.url, { sequences: 2 });
    const wide = engine.start(createRequest('a', 2), NEVER);
    await arrived(1);
    const other = engine.start(createRequest('b'), NEVER);
    await arrived(2);
    arrivals[1]?.();
    assert.equal(await collectText(await other), FULL_TEXT);
    assert.equal(arrivals.length, 2, 'the second choice waits');
    arrivals[0]?.();
    const text = wide.then(collectText);
    await arrived(3);
    arrivals[2]?.();
    assert.equal((await text).length, 2 * FULL_TEXT.length);
    await engine.close();
    await server.stop();
  });
});
