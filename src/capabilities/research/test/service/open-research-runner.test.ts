import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig } from '../../../../config/load-config.ts';
import { CAPABILITIES, getCapabilitySkipReason } from '../../../../../test/capabilities.ts';
import { openResearchRunner } from '../../command/open-research-runner.ts';
import { fillIndex } from '../../../../../test/fill-index.ts';

describe('openResearchRunner', { skip: getCapabilitySkipReason('search index') }, () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-researched-'));
  });
  after(async () => await rm(folder, { recursive: true }));

  const getEnv = () => ({ PARLEY_DATA: join(folder, 'data'), PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' });

  const createConfig = (overrides: object) => {
    const { config } = loadConfig({ env: getEnv() });
    return { ...config, ...overrides };
  };

  it('requires a search source, and warns about missing API keys', async () => {
    const config = createConfig({});
    const warnings: string[] = [];
    const deps = {
      environment: {},
      capabilities: CAPABILITIES,
      warn: (message: string) => void warnings.push(message),
    };
    await assert.rejects(openResearchRunner(config, deps), {
      kind: 'not-found',
      message: /No search source is available/,
    });

    await mkdir(join(folder, 'docs'));
    await writeFile(join(folder, 'docs', 'whales.txt'), 'Humpback whales sing in winter.');
    await fillIndex(getEnv(), [join(folder, 'docs')]);
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
