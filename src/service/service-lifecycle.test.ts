import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { createLifecycle, type Lifecycle } from '../lib/lifecycle.ts';
import type { Capability } from './capability.ts';
import { openKeys } from './open-components.ts';
import { createService, type Service } from './service.ts';
import type { ServiceOverrides } from './service-overrides.ts';

/** The modules in the order in which they open. They close in the reverse order. */
const MODULES = [
  'data folder',
  'store',
  'files',
  'batches',
  'deployment directory',
  'weights monitor',
  'engines',
  'deployment engines',
  'answer check',
  'fake tools',
  'fake',
  'event loop monitor',
  'retention',
  'database maintenance',
  'event cleanup',
  'jobs',
  'key uses',
  'http',
];

/** A capability that opens a timer with its tools, and another one with its jobs. */
const FAKE_CAPABILITY: Capability = { name: 'fake', openTools: openTimer, open: openTimer };

function openTimer() {
  const timer = setInterval(() => undefined, 60_000);
  return { close: async () => clearInterval(timer) };
}

const CLOSE_MS_MAX = 60_000;

interface Failures {
  readonly atOpen?: string;
  /** The module closes, and its close fails after that. */
  readonly atClose?: string;
}

/** Creates a lifecycle that records which modules it opened and closed, and fails where it is told to. */
function createRecordingLifecycle({ atOpen, atClose }: Failures = {}) {
  const inner = createLifecycle({ closeMsMax: CLOSE_MS_MAX });
  const opened: string[] = [];
  const closed: string[] = [];
  const lifecycle: Lifecycle = {
    open: (name, open, close) =>
      inner.open(
        name,
        async () => {
          if (name === atOpen) throw new Error(`cannot open ${name}`);
          const part = await open();
          opened.push(name);
          return part;
        },
        async (part) => {
          await close(part);
          closed.push(name);
          if (name === atClose) throw new Error(`cannot close ${name}`);
        },
      ),
    closeAll: () => inner.closeAll(),
  };
  return { lifecycle, opened, closed };
}

/** Counts by type what keeps this process alive: sockets, processes, timers. */
const countHandles = (): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const type of process.getActiveResourcesInfo()) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};

describe('lifecycle of the complete service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-lifecycle-'));
  after(() => rmSync(folder, { recursive: true }));
  const quiet = () => undefined;
  const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off', PARLEY_PORT: '0' };

  const { config } = loadConfig({ env });
  const overrides = { capabilities: [FAKE_CAPABILITY], log: { info: quiet, warn: quiet, error: quiet } };

  const create = (lifecycle: Lifecycle): Promise<Service> => createService(config, { ...overrides, lifecycle });

  test('records when a key was used last, also for uses shortly before the end', async () => {
    const startedAt = Date.now();
    const service = await createService(config, overrides);
    const [address] = await service.listen();
    const key = await service.getFirstKey();
    const unused = await service.keys.create({
      region: 'cn-beijing',
      workspace: 'other',
      name: '',
      expiresAt: undefined,
    });
    const response = await fetch(`${address?.url}/v1/models`, { headers: { authorization: `Bearer ${key?.secret}` } });
    await response.body?.cancel();
    assert.equal(response.status, 200);
    await service.close();
    const { keys, close } = await openKeys(config);
    const records = await keys.list({});
    await close();
    const usedAt = records.find(({ name }) => name === 'first')?.usedAt ?? 0;
    assert.ok(usedAt > startedAt - 60_000 && usedAt <= Date.now(), String(usedAt));
    assert.equal(records.find(({ id }) => id === unused.record.id)?.usedAt, undefined);
  });

  /** Asserts that no more handles are open than `before`. A socket closes in a later turn of the event loop. */
  async function assertNoHandles(before: Readonly<Record<string, number>>) {
    await new Promise((resolve) => setImmediate(resolve));
    const left = Object.entries(countHandles()).filter(([type, count]) => count > (before[type] ?? 0));
    assert.deepEqual(left, []);
  }

  test('opens every module once, and closes them in the reverse order', async () => {
    const before = countHandles();
    const { lifecycle, opened, closed } = createRecordingLifecycle();
    const service = await create(lifecycle);
    await service.listen();
    await service.close();
    await service.close();
    assert.deepEqual(opened, MODULES);
    assert.deepEqual(closed, MODULES.toReversed());
    await assertNoHandles(before);
  });

  for (const [index, name] of MODULES.entries()) {
    test(`leaves nothing open when ${name} fails to open`, async () => {
      const before = countHandles();
      const { lifecycle, opened, closed } = createRecordingLifecycle({ atOpen: name });
      await assert.rejects(create(lifecycle), new Error(`cannot open ${name}`));
      assert.deepEqual(opened, MODULES.slice(0, index));
      assert.deepEqual(closed, opened.toReversed());
      await assertNoHandles(before);
    });

    test(`leaves nothing open when ${name} fails to close`, async () => {
      const before = countHandles();
      const { lifecycle, closed } = createRecordingLifecycle({ atClose: name });
      const service = await create(lifecycle);
      await service.listen();
      await assert.rejects(service.close(), new Error(`cannot close ${name}`));
      assert.deepEqual(closed, MODULES.toReversed());
      await assertNoHandles(before);
    });
  }

  const remote = { input: 'prompt', server: 'vllm', chatTemplate: join(folder, 'no-template') };
  const fail = () => {
    throw new Error('cannot open its second part');
  };
  /** Failures after a module has opened its first part: the last one that is open then, and what makes the next fail. */
  const PARTIAL_FAILURES: Readonly<
    Record<
      string,
      { lastOpened: string; error: RegExp; config?: Partial<Config>; overrides?: Partial<ServiceOverrides> }
    >
  > = {
    engines: {
      lastOpened: 'deployment directory',
      error: /models\.m\.chatTemplate: cannot read the file/,
      config: { models: { m: { url: 'http://127.0.0.1:9', ...remote } } },
    },
    generation: {
      lastOpened: 'fake tools',
      error: /cannot open its second part/,
      overrides: { capabilities: [FAKE_CAPABILITY, { name: 'other', openTools: fail }] },
    },
    jobs: {
      lastOpened: 'event cleanup',
      error: /cannot open its second part/,
      overrides: Object.defineProperty({}, 'jobHandlers', { get: fail, enumerable: true }),
    },
    http: { lastOpened: 'event loop monitor', error: /EISDIR/, config: { operatorTokenFile: folder } },
  };
  for (const [name, failure] of Object.entries(PARTIAL_FAILURES))
    test(`leaves nothing open when ${name} fails after opening a part`, async () => {
      const before = countHandles();
      const { lifecycle, opened, closed } = createRecordingLifecycle();
      const replaced = Object.defineProperties(
        { ...overrides, lifecycle },
        Object.getOwnPropertyDescriptors(failure.overrides ?? {}),
      );
      await assert.rejects(createService({ ...config, ...failure.config }, replaced), failure.error);
      assert.equal(opened.at(-1), failure.lastOpened);
      assert.deepEqual(closed, opened.toReversed());
      await assertNoHandles(before);
    });

  test('closes every socket when one of two addresses is in use', async (context) => {
    const other = createServer();
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
    context.after(() => other.close());
    const { port } = other.address() as AddressInfo;
    const before = countHandles();
    const region = { host: '127.0.0.1', port: 0, hosts: [], deprecatedHosts: [] };
    const regions = { 'cn-beijing': region, 'ap-southeast-1': { ...region, port } };
    const service = await createService({ ...config, regions }, overrides);
    await assert.rejects(service.listen(), /EADDRINUSE|in use/);
    await service.close();
    await assertNoHandles(before);
  });

  test('logs what fails to close after a failed start, and rejects with the error of the start', async () => {
    const errors: unknown[] = [];
    const { lifecycle } = createRecordingLifecycle({ atOpen: 'jobs', atClose: 'engines' });
    const log = {
      info: quiet,
      warn: quiet,
      error: (message: string, fields?: object) => errors.push([message, fields]),
    };
    await assert.rejects(createService(config, { ...overrides, lifecycle, log }), new Error('cannot open jobs'));
    assert.deepEqual(errors, [
      ['closing the modules after a failed start failed', { error: 'Error: cannot close engines' }],
    ]);
  });
});
