import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { SearchQuery } from '../../core/server-tools.ts';
import { type IndexFolder, NOW, openIndexFolder } from './__fixtures__/index-folder.ts';
import type { EmbedTexts } from './search-index.ts';

const refreshOptions = { signal: new AbortController().signal };
const DAY_MS = 86_400_000;

/** Fake embeddings by subject, independent of the words of a text. */
const SUBJECTS = [/whale|ocean giant/i, /frog|amphibian/i, /money|stock/i];
const createFakeVector = (text: string): Float32Array => {
  const about = SUBJECTS.map((subject) => (subject.test(text) ? 1 : 0));
  return Float32Array.of(...about, about.includes(1) ? 0 : 1);
};

describe('search index', () => {
  let index: IndexFolder;
  let embed: EmbedTexts | undefined;
  beforeEach(async () => {
    embed = undefined;
    index = await openIndexFolder({ embed: async (texts, signal) => await embed?.(texts, signal) });
  });
  afterEach(() => index.close());

  const add = async (name: string, files: Readonly<Record<string, string>>, domain?: string) => {
    for (const [path, text] of Object.entries(files)) await index.write(`${name}/${path}`, text);
    return (await index.operator.add({ sources: [join(index.folder, name)], domain }, refreshOptions)).report;
  };
  const ask = async (text: string, change: Partial<SearchQuery> = {}) =>
    await index.search(
      {
        text,
        tenant: { region: 'cn-beijing', workspace: 'primary' },
        breadth: 'first',
        resultsMax: 10,
        usesDomainProviders: false,
        ...change,
      },
      refreshOptions.signal,
    );
  const titles = async (text: string, change: Partial<SearchQuery> = {}) =>
    (await ask(text, change)).results.map(({ title }) => title);
  const ZOO = {
    'whale.md': '# Whale\n\nThe whale is the largest animal.',
    'frog.md': '# Frog\n\nThe frog is a small animal.',
    'snail.md': '# Snail\n\nThe snail is slow.',
  };
  const byMeaning: EmbedTexts = async (texts) => ({ model: 'small', vectors: texts.map(createFakeVector) });

  it('finds matching documents, best first, up to the limit', async () => {
    await add('zoo', ZOO);
    assert.deepEqual(await titles('which animal is the largest'), ['Whale', 'Frog']);
    assert.deepEqual(await titles('which animal is the largest', { resultsMax: 1 }), ['Whale']);
    assert.deepEqual(await titles('which animal is the largest', { resultsMax: 0 }), []);
  });

  it('drops documents that cover too little of the question', async () => {
    await add('zoo', ZOO);
    assert.deepEqual(await titles('slow cooker recipes for winter evenings'), []);
    assert.deepEqual(await titles(''), []);
    assert.deepEqual(await titles('?!"\'*()'), []);
  });

  it('treats a question as plain words, without query syntax', async () => {
    await add('zoo', ZOO);
    for (const hostile of ['whale" OR "frog', "whale' | 'frog", 'whale*', 'whale AND NOT whale', 'terms: whale \0'])
      assert.ok((await titles(hostile)).includes('Whale'), hostile);
    for (const hostile of ['"', "'", '"" OR', 'NEAR(', '\\', 'terms : *', '^', '-']) await ask(hostile);
    await ask('x '.repeat(100_000));
    await ask('\ud800 whale');
  });

  it('finds Chinese, Japanese and Korean words', async () => {
    await add('east', {
      'tokyo.md': '# 東京\n\n東京は日本の首都です。',
      'beijing.md': '# 北京\n\n北京是中国的首都。长城在北方。',
      'seoul.md': '# 서울\n\n서울은 대한민국의 수도이다.',
    });
    assert.deepEqual(await titles('日本の首都'), ['東京']);
    assert.deepEqual((await titles('中国的首都在哪里'))[0], '北京');
    assert.deepEqual(await titles('대한민국 수도'), ['서울']);
  });

  it('returns the same text once, whatever its name', async () => {
    await add('zoo', { ...ZOO, 'copy.md': ZOO['whale.md'] });
    assert.deepEqual(await titles('largest whale'), ['Whale']);
  });

  it('returns collections of a domain as findings, and only on request', async () => {
    await add('zoo', ZOO);
    await add('market', { 'tea.md': '# Tea\n\nA whale of a price.' }, 'stock');
    assert.deepEqual((await ask('whale')).findings, []);
    const { results, findings } = await ask('whale', { usesDomainProviders: true });
    assert.deepEqual(
      results.map(({ title }) => title),
      ['Whale'],
    );
    assert.deepEqual(findings, [{ domain: 'stock', text: 'Tea\n# Tea\nA whale of a price.' }]);
  });

  it('excludes old documents and those of unknown age when freshness is limited', async () => {
    const dated = (days: number) =>
      `---\ndate: ${new Date(NOW - days * DAY_MS).toISOString().slice(0, 10)}\n---\n# Day ${days}\n\nwhale`;
    await add('news', { 'a.md': dated(2), 'b.md': dated(20), 'c.md': dated(200) });
    assert.deepEqual(await titles('whale', { freshnessDays: 7 }), ['Day 2']);
    assert.deepEqual((await titles('whale', { freshnessDays: 30 })).toSorted(), ['Day 2', 'Day 20']);
    assert.equal((await titles('whale')).length, 3);
  });

  it('excludes documents without a URL when sites are given', async () => {
    await add('zoo', ZOO);
    assert.deepEqual(await titles('whale', { sites: ['example.com'] }), []);
    assert.deepEqual(await titles('whale', { sites: ['zoo'] }), []);
    assert.deepEqual(await titles('whale', { blockedSites: ['example.com', '%', 'https://x.test/y'] }), ['Whale']);
  });

  it('rejects with the reason of an aborted signal', async () => {
    await add('zoo', ZOO);
    const reason = new ServiceError('cancelled', 'Gone.');
    const query = {
      text: 'whale',
      tenant: { region: 'cn-beijing', workspace: 'primary' },
      breadth: 'first',
      resultsMax: 1,
      usesDomainProviders: false,
    } as const;
    await assert.rejects(index.search(query, AbortSignal.abort(reason)), reason);
    const stop = new AbortController();
    embed = async () => {
      stop.abort(reason);
      throw new Error('aborted');
    };
    await assert.rejects(index.search(query, stop.signal), reason);
  });

  describe('with vectors', () => {
    it('finds paraphrases, and ranks documents first that both methods find', async () => {
      embed = byMeaning;
      const report = await add('zoo', { ...ZOO, 'both.md': '# Both\n\nA frog and an ocean giant.' });
      assert.equal(report.vectors, 4);
      assert.deepEqual((await titles('amphibian')).toSorted(), ['Both', 'Frog']);
      assert.equal((await titles('ocean giant'))[0], 'Both');
      assert.deepEqual(await titles('snail'), ['Snail']);
    });

    it('returns the most similar passage', async () => {
      embed = byMeaning;
      const filler = 'Nothing of note is said here at all. '.repeat(40);
      await add('zoo', { 'long.md': `${filler}\n\n# Second\n\n${filler}\n\n# Third\n\nIt is about money.` });
      const [found] = (await ask('stock')).results;
      assert.ok(found?.passage.endsWith('It is about money.'), found?.passage);
    });

    it('embeds again after a model change and never compares vectors of two models', async () => {
      embed = byMeaning;
      await add('zoo', ZOO);
      assert.equal((await add('zoo', ZOO)).vectors, 0);
      // The second model's vector for frogs equals the first model's vector for whales.
      const turned = (text: string) =>
        Float32Array.of(...createFakeVector(text).subarray(1), ...createFakeVector(text).subarray(0, 1));
      embed = async (texts) => ({ model: 'other', vectors: texts.map(turned) });
      assert.deepEqual(await titles('amphibian'), []);
      assert.equal((await add('zoo', ZOO)).vectors, 3);
      assert.ok((await titles('amphibian')).includes('Frog'));
    });

    it('searches by words only if embedding fails, and logs it', async () => {
      embed = byMeaning;
      await add('zoo', ZOO);
      embed = async () => {
        throw new Error('the engine is gone');
      };
      assert.deepEqual(await titles('whale'), ['Whale']);
      assert.deepEqual(index.warnings, ['the engine is gone']);
    });

    it('embeds the start of a passage that is too long for the model', async () => {
      embed = async (texts, signal) => {
        if (texts.some((text) => text.length > 300)) throw new ServiceError('invalid-request', 'Too long.');
        return await byMeaning(texts, signal);
      };
      const report = await add('zoo', { 'long.md': `Whales. ${'Much is said of them. '.repeat(60)}` });
      assert.equal(report.vectors, 1);
      assert.deepEqual(await titles('ocean giant'), ['long']);
    });
  });
});
