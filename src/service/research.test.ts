import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../test/until.ts';
import { loadConfig } from '../config/load-config.ts';
import { systemIds } from '../core/id.ts';
import type { ResearchEvent } from '../core/research.ts';
import { systemClock } from '../lib/clock.ts';
import { createJobBell } from '../resources/jobs/job-bell.ts';
import {
  playResearch,
  REQUEST,
  wholeRun,
  type PlayedResearch,
} from '../resources/research/__fixtures__/played-research.ts';
import { createResearchRuns } from '../resources/research/service.ts';
import { createRunBell } from '../resources/responses/run-bell.ts';
import { sqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore } from '../store/store.ts';
import { createService, type Service } from './service.ts';

const PATIENCE = { withinMs: 20_000 };

describe('deep research in two services that share a database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-research-'));
  const services: Service[] = [];
  const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off', PARLEY_PORT: '0' };
  const { config } = loadConfig({ env });
  const quiet = () => undefined;
  const log = { info: quiet, warn: quiet, error: quiet };
  let keyId = '';

  const start = async (research: PlayedResearch): Promise<Service> => {
    const jobTiming = { renewMs: 100, lookMs: 100 };
    const service = await createService(config, { log, jobTiming, research });
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

  it('goes on in the other one when the first shuts down', async () => {
    const first = playResearch({
      before: (step, { signal }) =>
        step < 3
          ? Promise.resolve()
          : new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('told to stop')))),
    });
    const stopped = await start(first);
    const store = await openStore({ dialect: sqliteDialect({ file: config.store.url.slice('sqlite:'.length) }) });
    try {
      const runs = createResearchRuns({
        store,
        clock: systemClock,
        ids: systemIds,
        research: first,
        bell: createRunBell(),
        jobBell: createJobBell(),
        limits: config.research,
      });
      const context = {
        requestId: 'r',
        owner: { region: 'cn-beijing', workspace: 'primary', keyId },
        signal: new AbortController().signal,
        log: { add: quiet, warn: quiet },
      } as const;
      const told: ResearchEvent[] = [];
      const batches = await runs.open({ request: REQUEST, likeness: 'same' }, context);
      const reading = (async () => {
        for await (const batch of batches) told.push(...batch);
      })();
      await until('the fourth step', PATIENCE, async () => (first.begun.includes(3) ? true : undefined));
      const second = playResearch();
      await start(second);
      await stopped.close();
      services.shift();
      await reading;
      assert.deepEqual([told, second.begun], [wholeRun(), [3, 4, 5]]);
    } finally {
      await store.close();
    }
  });
});
