import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Facts } from '../../src/core/telemetry.ts';
import { playedEngines } from '../../src/service/__fixtures__/played-engines.ts';
import { createService } from '../../src/service/service.ts';
import { makeCorpus } from '../corpus.ts';
import { fillIndex } from '../fill-index.ts';
import type { Parley } from './harness.ts';
import { parleyHere } from './parley-here.ts';

export interface CorpusParley extends Parley {
  /** What the model was given to read, run by run. */
  readonly prompts: readonly string[];
  /** What was logged as information, the oldest first. */
  readonly lines: readonly (Facts & { readonly line: string })[];
  /** A document that something was found in, as it stands in its folder. */
  read(found: { readonly url: string }): Promise<string>;
}

/**
 * A Parley in this process that researches more than two hundred real documents, in the words of its sources. Only the model
 * is played, and has no plan: what is looked for comes out of the question. Its tokens are words.
 */
export async function startCorpusParley(): Promise<CorpusParley> {
  const data = await mkdtemp(join(tmpdir(), 'parley-corpus-'));
  const { documents } = await makeCorpus(join(data, 'packages'));
  assert.ok(documents.length >= 200);
  const env = {
    PARLEY_DATA: join(data, 'data'),
    PARLEY_PORT: '0',
    PARLEY_ENGINE_KIND: 'scripted',
    PARLEY_HUB_URL: 'off',
    PARLEY_RESEARCH_WRITER: 'extractive',
    // Of words a report takes more than of tokens.
    PARLEY_RESEARCH_QUERIES: '30',
    PARLEY_RESEARCH_PAGES: '80',
  };
  const { config } = loadConfig({ env });
  await fillIndex(config, [join(data, 'packages')]);
  const { engines, prompts } = playedEngines({
    contextTokens: 8_192,
    otherwise: () => ['What of it ', 'matters most?'],
  });
  const lines: (Facts & { readonly line: string })[] = [];
  const quiet = () => undefined;
  const info = (line: string, facts: Facts = {}): void => void lines.push({ ...facts, line });
  const service = await createService(config, { engines, log: { info, warn: quiet, error: quiet } });
  const stop = async () => {
    await service.close();
    await rm(data, { recursive: true });
  };
  return {
    ...(await parleyHere(service, { data, stop })),
    prompts,
    lines,
    read: ({ url }) => readFile(join(data, decodeURIComponent(url.replace(/^parley-index:/, ''))), 'utf8'),
  };
}
