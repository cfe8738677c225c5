import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CodeOutput, Search, ServerToolOptions, Source } from '../../src/core/server-tools.ts';
import type { GenerationRequest } from '../../src/core/request.ts';
import type { GenerationResult } from '../../src/core/result.ts';
import { createTestGeneration, ENTRY, REQUEST } from '../../src/generation/__fixtures__/test-generation.ts';
import { collectResult } from '../../src/generation/collect-result.ts';
import { createCountPrompt } from '../../src/generation/count-prompt.ts';
import { createExamineRequest } from '../../src/generation/server-tools/examine-request.ts';
import { createGenerateWithServerTools } from '../../src/generation/server-tools/generate-with-server-tools.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openTestLlama } from './test-llama.ts';
import type { TestLlama } from './test-llama.ts';
import { getWeightsFileSkipReason, SMALL } from './weights.ts';

const PAGES: readonly Omit<Source, 'index'>[] = [
  [
    'Brenwick lighthouse',
    'The lighthouse of Brenwick was built in 1874. It is 41 metres tall and has 203 steps. Keeper Ida Holm lived there for thirty years.',
  ],
  [
    'Brenwick harbour',
    'The harbour of Brenwick has 60 places for boats. The ferry to Solvaer leaves at 7:45 and at 16:30.',
  ],
  ['Brenwick tickets', 'A ticket for the lighthouse costs 9 crowns for adults and 4 crowns for children.'],
  ['Solvaer island', 'On Solvaer there are 312 people and about 4000 sheep. The island is known for its cheese.'],
].map(([title = '', passage = '']) => ({
  title,
  url: `https://example.com/${title.toLowerCase().replaceAll(' ', '-')}`,
  siteName: 'example.com',
  icon: '',
  passage,
}));

/** Returns the pages that share the most words with the query. */
const search: Search = async ({ text, resultsMax }) => {
  const splitWords = (text: string): string[] => text.toLowerCase().match(/\p{L}+/gu) ?? [];
  const queryWords = splitWords(text);
  const scored = PAGES.map((page) => {
    const words = new Set(splitWords(`${page.title} ${page.passage}`));
    return { page, score: queryWords.filter((word) => words.has(word)).length };
  });
  const results = scored
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .map(({ page }) => page);
  return { results: results.slice(0, resultsMax), findings: [] };
};

/** Computes the power of the question below, however the program writes it, and prints it as the program does. */
const calculate = (program: string): Partial<CodeOutput> => {
  const numbers = (program.match(/\d+/g) ?? []).map(Number).filter((number) => number > 1);
  const power = numbers.length < 2 ? 'None' : String(BigInt(Math.max(...numbers)) ** BigInt(Math.min(...numbers)));
  return program.includes('print(') ? { stdout: `${power}\n` } : { value: power };
};

/** All strategies in a full run (PARLEY_TEST_FULL=1); otherwise the one with every step of the others. */
const STRATEGIES =
  process.env['PARLEY_TEST_FULL'] === '1'
    ? (['turbo', 'max', 'agent', 'agent-max'] as const)
    : (['agent-max'] as const);

describe('server tools with Qwen2.5-Coder 0.5B', { skip: getWeightsFileSkipReason(SMALL) }, () => {
  let llama: TestLlama;
  let ask: (question: string, tools: ServerToolOptions, more?: Partial<GenerationRequest>) => Promise<GenerationResult>;
  before(async () => {
    llama = await openTestLlama(SMALL);
    const abilities = { ...ENTRY.abilities, tools: true };
    const entry = { ...ENTRY, contextTokens: 2_048, repeatsCalls: true, abilities };
    const { deps, context } = createTestGeneration(llama.engine, { entry });
    const { generate, catalogue, acquireEngine } = deps;
    const countPrompt = createCountPrompt({ catalogue, acquireEngine, getModelStyle: () => ({}) });
    const withTools = createGenerateWithServerTools({
      generate,
      examine: createExamineRequest({ catalogue, acquireEngine, countPrompt }),
      search,
      hasSearchContent: async () => true,
      readPage: async ({ url }) => {
        const page = PAGES.find((each) => each.url === url);
        assert.ok(page, 'the page was not in the search results');
        return page;
      },
      code: {
        open: async () => ({
          id: 'box',
          run: async (program) => ({ stdout: '', stderr: '', files: [], isTruncated: false, ...calculate(program) }),
          release: () => undefined,
        }),
      },
      openCallerFiles: undefined,
      storeFile: undefined,
      clock: systemClock,
      newId: () => 'srv',
    });
    ask = async (question, serverTools, more = {}) => {
      const messages = [{ role: 'user', content: [{ type: 'text', text: question }] }] as const;
      const request = { ...REQUEST, sampling: { temperature: 0 }, maxTokens: 120, messages, serverTools, ...more };
      return await collectResult((await withTools(request, { interface: 'chat' }, context)).batches);
    };
  });
  after(() => llama.close());

  const getText = ({ choices }: GenerationResult): string =>
    (choices[0]?.blocks ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');

  for (const strategy of STRATEGIES)
    it(`answer from search results when the search is forced (${strategy})`, async () => {
      const searchOptions = { strategy, isForced: true, usesDomainProviders: false, citations: 'number' } as const;
      const result = await ask('How tall is the lighthouse of Brenwick, and how many steps does it have?', {
        search: searchOptions,
      });
      const text = getText(result);
      assert.match(text, /41/);
      assert.match(text, /203/);
      assert.match(text, /\[\d\]/);
      assert.ok((result.usage.serverTools?.searches ?? 0) >= 1);
    });

  it('search for a question about facts, but not for a task', async () => {
    const searchOptions = { strategy: 'turbo', isForced: false, usesDomainProviders: false } as const;
    const answer = await ask('What does a ticket for the Brenwick lighthouse cost?', { search: searchOptions });
    assert.equal(answer.usage.serverTools?.searches, 1);
    assert.match(getText(answer), /9/);
    const taskAnswer = await ask('Write a haiku about the sea.', { search: searchOptions }, { maxTokens: 4 });
    assert.equal(taskAnswer.usage.serverTools, undefined);
  });

  it('compute a number that the model does not know', async () => {
    const result = await ask('What is 123**9?', { code: { fileIds: [] } });
    assert.equal(result.usage.serverTools?.programs, 1);
    assert.match(getText(result).replaceAll(/[\s,]/g, ''), new RegExp(String(123n ** 9n)));
  });
});
