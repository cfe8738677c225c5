import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { openResearchRunner } from './open-research-runner.ts';
import { openSearchIndex } from './open-search-index.ts';

describe('openResearchRunner', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-researched-'));
  });
  after(async () => await rm(folder, { recursive: true }));

  const createConfig = (overrides: object) => {
    const env = { PARLEY_DATA: join(folder, 'data'), PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    const { config } = loadConfig({ env });
    return { ...config, ...overrides };
  };

  it('requires a search source, and warns about missing API keys', async () => {
    const config = createConfig({});
    const warnings: string[] = [];
    const deps = { environment: {}, warn: (message: string) => void warnings.push(message) };
    await assert.rejects(openResearchRunner(config, deps), {
      kind: 'not-found',
      message: /No search source is available/,
    });

    const index = await openSearchIndex(config, { environment: {}, log: deps });
    await mkdir(join(folder, 'docs'));
    await writeFile(join(folder, 'docs', 'whales.txt'), 'Humpback whales sing in winter.');
    await index.operator.add({ sources: [join(folder, 'docs')] }, { signal: AbortSignal.timeout(20_000) });
    await index.close();
    const providers = [...config.search.providers, { type: 'brave', apiKeyEnv: 'NO_SUCH_KEY' }];
    const withoutKey = createConfig({ search: { ...config.search, providers } });
    const runner = await openResearchRunner(withoutKey, deps);
    try {
      const { owner, log } = runner.createContext(AbortSignal.timeout(1_000));
      assert.deepEqual(owner, { workspace: 'primary', region: 'cn-beijing', keyId: 'operator' });
      log.warn('a search of a research failed');
    } finally {
      await runner.close();
    }
    assert.deepEqual(warnings.length, 2);
    assert.match(warnings[0] ?? '', /^API key variable of search provider not set/);
  });
});
