import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { loadConfig } from '../../../../config/load-config.ts';
import { openSearchIndex } from '../../open-search-index.ts';
import { type Parley, startParley } from '../../../../../test/clients/harness.ts';
import { createCorpus } from '../../../../../test/corpus.ts';
import { getWeightsSkipReason } from '../../../../../test/models-folder.ts';

/** A question about a package, and the folder of its documents. */
const QUESTION = 'What is robots-parser for?';
const ABOUT = /\/robots-parser\//;

interface SearchAnswer {
  readonly output: {
    readonly search_info: {
      readonly search_results: readonly { readonly index: number; readonly title: string; readonly url: string }[];
    };
    readonly choices: readonly { readonly message: { readonly content: string } }[];
  };
  readonly usage: { readonly plugins: unknown };
}

describe(
  'a service of Qwen2.5-Coder 0.5B with two hundred documents in its index',
  { skip: getWeightsSkipReason('svc-plus') || getWeightsSkipReason('svc-tiny') },
  () => {
    let folder = '';
    let parley: Parley;
    let indexed: ReadonlySet<string> = new Set();
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-search-service-'));
      const { documents } = await createCorpus(join(folder, 'packages'));
      indexed = new Set(
        documents.map((path) => `parley-index:packages/${path.split('/').map(encodeURIComponent).join('/')}`),
      );
      // Without an engine of its own, no embedding model runs: the service would compute the vectors of all passages, which
      // takes longer than the tests and shows nothing here.
      parley = await startParley({
        env: { PARLEY_ENGINE_CONTEXT_TOKENS: '4096', PARLEY_ENGINES_FOLDER: join(folder, 'none') },
      });
      // Without an embedding model the index stores no vectors and searches by words.
      const env = { PARLEY_DATA: parley.data, PARLEY_MODELS_FOLDER: join(folder, 'none'), PARLEY_HUB_URL: 'off' };
      const index = await openSearchIndex(loadConfig({ env }).config, {
        environment: env,
        log: { warn: () => undefined },
        capabilities: [],
      });
      const sources = [join(folder, 'packages')];
      const { report } = await index.operator.add({ sources }, { signal: AbortSignal.timeout(300_000) });
      await index.close();
      assert.ok(report.added >= 200, JSON.stringify(report));
    });
    after(async () => {
      await parley?.stop();
      await rm(folder, { recursive: true });
    });

    it('returns indexed documents as its sources, and cites no others', async () => {
      const response = await fetch(`${parley.address}/api/v1/services/aigc/text-generation/generation`, {
        method: 'POST',
        headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'svc-plus',
          input: { messages: [{ role: 'user', content: QUESTION }] },
          parameters: {
            result_format: 'message',
            temperature: 0,
            max_tokens: 60,
            enable_search: true,
            search_options: { forced_search: true, enable_source: true, enable_citation: true },
          },
        }),
      });
      const body: unknown = await response.json();
      assert.equal(response.status, 200, JSON.stringify(body));
      const { output, usage } = body as SearchAnswer;
      const results = output.search_info.search_results;
      assert.ok(results.length > 0);
      for (const { url, title } of results) assert.ok(indexed.has(url), `${title} ${url}`);
      assert.ok(
        results.some(({ url }) => ABOUT.test(url)),
        JSON.stringify(results),
      );
      const text = output.choices[0]?.message.content ?? '';
      const marks = [...text.matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number));
      assert.ok(marks.length > 0, `the answer cites no source: ${text}`);
      for (const mark of marks)
        assert.ok(
          results.some(({ index }) => index === mark),
          text,
        );
      assert.deepEqual(usage.plugins, { search: { count: 1, strategy: 'turbo' } });
    });

    it('cites only pages that the search found', async () => {
      const client = new Anthropic({
        baseURL: `${parley.address}/apps/anthropic`,
        apiKey: parley.key,
        authToken: null,
      });
      const { content } = await client.messages.create({
        // The search is forced and its words are the question, so that any model shows what is cited.
        model: 'svc-tiny',
        max_tokens: 24,
        messages: [{ role: 'user', content: QUESTION }],
        tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }],
        tool_choice: { type: 'tool', name: 'web_search' },
      });
      const foundUrls = content.flatMap((block) =>
        block.type === 'web_search_tool_result' && Array.isArray(block.content)
          ? block.content.map(({ url }) => url)
          : [],
      );
      assert.ok(foundUrls.length > 0 && foundUrls.every((url) => indexed.has(url)), JSON.stringify(foundUrls));
      const citations = content.flatMap((block) => (block.type === 'text' ? (block.citations ?? []) : []));
      for (const citation of citations)
        assert.ok(
          citation.type === 'web_search_result_location' && foundUrls.includes(citation.url),
          JSON.stringify(citation),
        );
    });
  },
);
