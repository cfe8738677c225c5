import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../../config/load-config.ts';
import type { LogFields } from '../../../../core/telemetry.ts';
import { createFakeEngines } from '../../../../service/__fixtures__/fake-engines.ts';
import { CAPABILITIES } from '../../../../../test/capabilities.ts';
import { createService } from '../../../../service/service.ts';
import { createCorpus } from '../../../../../test/corpus.ts';
import { fillIndex } from '../../../../../test/fill-index.ts';
import type { Parley } from '../../../../../test/clients/harness.ts';
import { openInProcessParley } from '../../../../../test/clients/in-process-parley.ts';

export interface CorpusParley extends Parley {
  /** Prompts of all model runs, oldest first. */
  readonly prompts: readonly string[];
  /** Log lines of level info, oldest first. */
  readonly logLines: readonly (LogFields & { readonly message: string })[];
  /** Reads the document of a search result from the corpus folder. */
  readSource(found: { readonly url: string }): Promise<string>;
}

/**
 * Starts a Parley in this process that researches more than 200 real documents and writes extractive reports. The model
 * is fake and gives no plan, so queries come from the question. One word is one token.
 */
export async function startCorpusParley(): Promise<CorpusParley> {
  const data = await mkdtemp(join(tmpdir(), 'parley-corpus-'));
  const { documents } = await createCorpus(join(data, 'packages'));
  assert.ok(documents.length >= 200);
  const env = {
    PARLEY_DATA: join(data, 'data'),
    PARLEY_PORT: '0',
    PARLEY_ENGINE_KIND: 'scripted',
    PARLEY_HUB_URL: 'off',
    PARLEY_RESEARCH_WRITER: 'extractive',
    // A report needs more queries and pages when words are counted as tokens.
    PARLEY_RESEARCH_QUERIES: '12',
    PARLEY_RESEARCH_PAGES: '30',
  };
  const { config } = loadConfig({ env });
  await fillIndex(env, [join(data, 'packages')]);
  const { engines, prompts } = createFakeEngines({
    contextTokens: 8_192,
    getDefaultAnswer: () => ['What of it ', 'matters most?'],
  });
  const logLines: (LogFields & { readonly message: string })[] = [];
  const quiet = () => undefined;
  const info = (message: string, fields: LogFields = {}): void => void logLines.push({ ...fields, message });
  const service = await createService(config, {
    capabilities: CAPABILITIES,
    engines,
    log: { info, warn: quiet, error: quiet },
  });
  const stop = async () => {
    await service.close();
    await rm(data, { recursive: true });
  };
  return {
    ...(await openInProcessParley(service, { data, stop })),
    prompts,
    logLines,
    readSource: ({ url }) => readFile(join(data, decodeURIComponent(url.replace(/^parley-index:/, ''))), 'utf8'),
  };
}
