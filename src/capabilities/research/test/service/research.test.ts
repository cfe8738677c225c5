import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../../../../test/until.ts';
import { loadConfig } from '../../../../config/load-config.ts';
import { systemIdGenerator } from '../../../../core/id.ts';
import type { ResearchEvent } from '../../research.ts';
import { systemClock } from '../../../../lib/clock.ts';
import { createJobNotifier } from '../../../../resources/jobs/job-notifier.ts';
import {
  createScriptedResearch,
  REQUEST,
  getAllEvents,
  type ScriptedResearch,
} from '../../runs/__fixtures__/scripted-research.ts';
import { createDeepResearch } from '../../create-deep-research.ts';
import { createResearchRuns } from '../../runs/service.ts';
import { createRunNotifier } from '../../../../resources/responses/run-notifier.ts';
import { createSqliteDialect } from '../../../../store/dialects/sqlite.ts';
import { openStore } from '../../../../store/store.ts';
import { createService, type Service } from '../../../../service/service.ts';

const TIMEOUT = { timeoutMs: 20_000 };

describe('deep research with two services that share a database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-research-'));
  const services: Service[] = [];
  const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off', PARLEY_PORT: '0' };
  const { config } = loadConfig({ env });
  const ignore = () => undefined;
  const log = { info: ignore, warn: ignore, error: ignore };
  let keyId = '';

  const start = async (research: ScriptedResearch): Promise<Service> => {
    const capabilities = [createDeepResearch({ pipeline: research })];
    const jobTiming = { renewMs: 100, pollMs: 100 };
    // Services share the database, but not the data folder.
    const data = join(folder, String(services.length));
    const service = await createService({ ...config, data }, { log, jobTiming, capabilities });
    services.push(service);
    await service.listen();
    return service;
  };
  before(async () => {
    const service = await createService(config, { log });
    const draft = { region: 'cn-beijing', workspace: 'primary', name: '', expiresAt: undefined } as const;
    keyId = (await service.keys.create(draft)).record.id;
    await service.close();
  });
  after(async () => {
    await Promise.all(services.map((service) => service.close()));
    rmSync(folder, { recursive: true });
  });

  it('continues in the other service when the first shuts down', async () => {
    const first = createScriptedResearch({
      before: (step, { signal }) =>
        step < 3
          ? Promise.resolve()
          : new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    });
    const stopped = await start(first);
    const store = await openStore({ dialect: createSqliteDialect({ file: config.store.url.slice('sqlite:'.length) }) });
    try {
      const runs = createResearchRuns({
        store,
        clock: systemClock,
        ids: systemIdGenerator,
        research: first,
        notifier: createRunNotifier(),
        jobNotifier: createJobNotifier(),
        limits: config.research,
      });
      const context = {
        requestId: 'r',
        owner: { region: 'cn-beijing', workspace: 'primary', keyId },
        signal: new AbortController().signal,
        log: { add: ignore, warn: ignore },
      } as const;
      const events: ResearchEvent[] = [];
      const batches = await runs.open({ request: REQUEST, fingerprint: 'same' }, context);
      const reading = (async () => {
        for await (const batch of batches) events.push(...batch);
      })();
      await until('the fourth step', TIMEOUT, async () => (first.startedSteps.includes(3) ? true : undefined));
      const second = createScriptedResearch();
      await start(second);
      await stopped.close();
      services.shift();
      await reading;
      assert.deepEqual([events, second.startedSteps], [getAllEvents(), [3, 4, 5]]);
    } finally {
      await store.close();
    }
  });
});
