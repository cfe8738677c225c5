import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CodeOutput, Search, ServerTools, Source } from '../../src/core/server-tools.ts';
import type { GenerationRequest } from '../../src/core/request.ts';
import type { GenerationResult } from '../../src/core/result.ts';
import { createHouse, ENTRY, REQUEST } from '../../src/generation/__fixtures__/house.ts';
import { collect } from '../../src/generation/collect.ts';
import { createCountPrompt } from '../../src/generation/count-prompt.ts';
import { createExamine } from '../../src/generation/server-tools/examine.ts';
import { createGenerateWithServerTools } from '../../src/generation/server-tools/generate-with-server-tools.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLlama } from './llama.ts';
import type { Llama } from './llama.ts';
import { lacks, SMALL } from './weights.ts';

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

/** The pages that share most words with the query. */
const search: Search = async ({ text, resultsMax }) => {
  const wordsOf = (of: string): string[] => of.toLowerCase().match(/\p{L}+/gu) ?? [];
  const asked = wordsOf(text);
  const scored = PAGES.map((page) => {
    const words = new Set(wordsOf(`${page.title} ${page.passage}`));
    return { page, score: asked.filter((word) => words.has(word)).length };
  });
  const results = scored
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .map(({ page }) => page);
  return { results: results.slice(0, resultsMax), findings: [] };
};

/** Knows the few expressions that the question below leads to. */
const calculate = (program: string): Partial<CodeOutput> => {
  const expression = /(?:print\()?\s*([\d\s*+\-()]+?)\s*\)?\s*$/.exec(program)?.[1] ?? '';
  const [base, power] = expression.split('**').map(Number);
  return base !== undefined && power !== undefined
    ? { value: String(BigInt(base) ** BigInt(power)) }
    : { value: 'None' };
};

describe('searches and programs in answers of Qwen2.5-Coder 0.5B', { skip: lacks(SMALL) }, () => {
  let llama: Llama;
  let ask: (question: string, tools: ServerTools, more?: Partial<GenerationRequest>) => Promise<GenerationResult>;
  before(async () => {
    llama = await openLlama(SMALL);
    const abilities = { ...ENTRY.abilities, tools: true };
    const entry = { ...ENTRY, contextTokens: 2_048, repeatsCalls: true, abilities };
    const { parts, context } = createHouse(llama.engine, { entry });
    const { generate, catalogue, engineFor } = parts;
    const countPrompt = createCountPrompt({ catalogue, engineFor, styleOf: () => ({}) });
    const withTools = createGenerateWithServerTools({
      generate,
      examine: createExamine({ catalogue, engineFor, countPrompt }),
      search,
      readPage: async ({ url }) => {
        const page = PAGES.find((each) => each.url === url);
        assert.ok(page, 'only pages that were found are read');
        return page;
      },
      code: {
        open: async () => ({
          id: 'box',
          run: async (program) => ({ stdout: '', stderr: '', files: [], isCut: false, ...calculate(program) }),
          release: () => undefined,
        }),
      },
      openCallerFiles: undefined,
      keepFile: undefined,
      clock: systemClock,
      newId: () => 'srv',
    });
    ask = async (question, serverTools, more = {}) => {
      const messages = [{ role: 'user', content: [{ type: 'text', text: question }] }] as const;
      const request = { ...REQUEST, sampling: { temperature: 0 }, maxTokens: 120, messages, serverTools, ...more };
      return await collect((await withTools(request, { interface: 'chat' }, context)).batches);
    };
  });
  after(() => llama.close());

  const textOf = ({ choices }: GenerationResult): string =>
    (choices[0]?.blocks ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');

  for (const strategy of ['turbo', 'max', 'agent', 'agent-max'] as const)
    it(`a forced search answers from what was found (${strategy})`, async () => {
      const wish = { strategy, isForced: true, withDomains: false, citations: 'number' } as const;
      const result = await ask('How tall is the lighthouse of Brenwick, and how many steps does it have?', {
        search: wish,
      });
      const text = textOf(result);
      assert.match(text, /41/);
      assert.match(text, /203/);
      assert.match(text, /\[\d\]/);
      assert.ok((result.usage.serverTools?.searches ?? 0) >= 1);
    });

  it('is decided on by the model: a question for facts is searched for, a task is not', async () => {
    const wish = { strategy: 'turbo', isForced: false, withDomains: false } as const;
    const facts = await ask('What does a ticket for the Brenwick lighthouse cost?', { search: wish });
    assert.equal(facts.usage.serverTools?.searches, 1);
    assert.match(textOf(facts), /9/);
    const task = await ask('Write a haiku about the sea.', { search: wish });
    assert.equal(task.usage.serverTools, undefined);
  });

  it('a number that the model cannot work out is computed', async () => {
    const result = await ask('What is 123**21?', { code: { fileIds: [] } });
    assert.equal(result.usage.serverTools?.programs, 1);
    assert.match(textOf(result).replaceAll(/[\s,]/g, ''), new RegExp(String(123n ** 21n)));
  });
});
