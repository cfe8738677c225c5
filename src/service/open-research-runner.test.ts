import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { openResearchRunner } from './open-research-runner.ts';
import { openSearchIndex } from './open-search-index.ts';

describe('research for a command', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-researched-'));
  });
  after(async () => await rm(folder, { recursive: true }));

  const configOf = (file: object) => {
    const env = { PARLEY_DATA: join(folder, 'data'), PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    const { config } = loadConfig({ env });
    return { ...config, ...file };
  };

  it('begins where there is something to search in, and tells what is missing', async () => {
    const config = configOf({});
    const warnings: string[] = [];
    const needs = { environment: {}, warn: (message: string) => void warnings.push(message) };
    await assert.rejects(openResearchRunner(config, needs), { kind: 'not-found', message: /nothing to search in/ });

    const index = await openSearchIndex(config, { environment: {}, log: needs });
    await mkdir(join(folder, 'docs'));
    await writeFile(join(folder, 'docs', 'whales.txt'), 'Humpback whales sing in winter.');
    await index.operator.add({ sources: [join(folder, 'docs')] }, { signal: AbortSignal.timeout(20_000) });
    await index.close();
    const providers = [...config.search.providers, { type: 'brave', apiKeyEnv: 'NO_SUCH_KEY' }];
    const lacking = configOf({ search: { ...config.search, providers } });
    const runner = await openResearchRunner(lacking, needs);
    try {
      const { owner, log } = runner.context(AbortSignal.timeout(1_000));
      assert.deepEqual(owner, { workspace: 'primary', region: 'cn-beijing', keyId: 'operator' });
      log.warn('a search of a research failed');
    } finally {
      await runner.close();
    }
    assert.deepEqual(warnings.length, 2);
    assert.match(warnings[0] ?? '', /key of a search provider is not set/);
  });
});
