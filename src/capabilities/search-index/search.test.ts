import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { SearchQuery } from '../../core/server-tools.ts';
import { type IndexFolder, NOW, openIndexFolder } from './__fixtures__/index-folder.ts';
import type { EmbedTexts, RankTexts } from './search-index.ts';

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
  let rank: RankTexts | undefined;
  beforeEach(async () => {
    embed = undefined;
    rank = undefined;
    index = await openIndexFolder({
      embed: async (texts, signal) => await embed?.(texts, signal),
      rank: async (question, texts, signal) => await rank?.(question, texts, signal),
    });
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
  const findDocument = async (reference: string): Promise<number> => {
    const { results } = await ask(reference.replace('.md', ''));
    const [url] = results.flatMap(({ url: found }) => (found.endsWith(reference) ? found : []));
    const scope = { tenant: { region: 'cn-beijing', workspace: 'primary' }, collections: 'plain' } as const;
    const [passage] = await index.store.indexSearch.readDocument(url ?? '', scope, 1);
    assert.ok(passage);
    return passage.document;
  };
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

  it('finds identifiers as a whole and by their parts, in any style', async () => {
    await add('settings', {
      'a.md': '# Checkpoints\n\nmax_wal_size limits the log between checkpoints.',
      'b.md': '# Sizes\n\nThe max size of a wal file, and the size of others, and its max.',
      'c.md': '# Cleaning\n\nautovacuum_naptime is the pause of autovacuum.',
    });
    for (const question of ['max_wal_size', 'maxWalSize', 'max-wal-size'])
      assert.equal((await titles(question))[0], 'Checkpoints', question);
    assert.equal((await titles('naptime'))[0], 'Cleaning');
    assert.equal((await titles('auto vacuum'))[0], 'Cleaning');
  });

  it('ranks a document first whose title or heading has the words of the question', async () => {
    const filler = 'It is said here that a tool backs up files, and restores them. '.repeat(12);
    await add('guide', {
      'a.md': `# Introduction\n\n${filler} Restoring backups of tables is rare. ${filler}`,
      'b.md': `# Restoring a backup\n\n${'Stop the server first and wait. '.repeat(20)}`,
      'c.md': `# Overview\n\n${'Nothing. '.repeat(60)}\n\n## Vacuuming\n\n${'Free the pages and wait. '.repeat(60)}`,
    });
    assert.equal((await titles('restore a backup'))[0], 'Restoring a backup');
    const [found] = (await ask('vacuuming pages')).results;
    assert.ok(found?.title === 'Overview' && found.passage.includes('## Vacuuming'));
  });

  it('returns the passages of a document that say most, not its beginning', async () => {
    const filler = (name: string) => `${name} has nothing to report at all today. `.repeat(90);
    await add('long', {
      'a.md': `# Manual\n\n${filler('One')}\n\n## Fees\n\nThe fee is 12 crowns.\n\n${filler('Two')}\n\n## Late\n\nA late fee is 30 crowns.`,
    });
    const [found] = (await ask('What is the fee?')).results;
    assert.match(found?.passage ?? '', /The fee is 12 crowns\..*\n\n…\n\n.*A late fee is 30 crowns\./s);
    assert.ok((found?.passage.length ?? 0) <= 4_000);
  });

  it('finds by the query of a model what a long message of the user mostly does not concern', async () => {
    await add('zoo', ZOO);
    const question = `Which animal? I packed ${'boots gloves tents maps ropes lamps '.repeat(20)} for winter evenings.`;
    assert.equal((await titles('largest animal', { question }))[0], 'Whale');
    assert.deepEqual(await titles('', { question }), []);
  });

  it('uses the words of the user besides those of a model', async () => {
    await add('zoo', ZOO);
    assert.deepEqual(await titles('slow cooker', { question: 'Which snail is slow?' }), ['Snail']);
  });

  it('sorts the best documents by a reranking model, and keeps its own order if that fails', async () => {
    await add('zoo', ZOO);
    const question = 'which animal is the largest';
    assert.deepEqual(await titles(question), ['Whale', 'Frog']);
    rank = async (text, texts) => {
      assert.equal(text, question);
      return texts.map((each) => (each.startsWith('Frog\n') ? 1 : 0));
    };
    assert.deepEqual(await titles(question), ['Frog', 'Whale']);
    rank = async () => {
      throw new Error('the engine is gone');
    };
    assert.deepEqual(await titles(question), ['Whale', 'Frog']);
    assert.deepEqual(index.warnings, ['the engine is gone']);
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

    it('ranks a collection by words alone until all of its documents have vectors', async () => {
      const files = {
        'whale.md': '# Whale\n\nThe ocean giant, a whale, sings in the deep.',
        'frog.md': '# Frog\n\nA frog sings in the pond, and the frog sleeps.',
        'toad.md': '# Toad\n\nA toad sings.',
      };
      await add('zoo', files);
      const byWords = await titles('giant sings');
      assert.deepEqual(byWords, ['Whale', 'Toad', 'Frog']);
      // Only the frog has a vector, which is the question's: if vectors counted, it would come first.
      embed = async (texts) => {
        if (texts.some((text) => !/model|frog|giant sings/i.test(text))) throw new Error('the engine is gone');
        return { model: 'small', vectors: texts.map(() => Float32Array.of(1, 0, 0, 0)) };
      };
      await index.store.indexDocuments.setVectors(await findDocument('frog.md'), {
        model: 'small',
        dimensions: 4,
        vectors: Uint8Array.of(127, 0, 0, 0),
      });
      assert.deepEqual(await titles('giant sings'), byWords);
      assert.deepEqual(index.warnings, []);
    });

    it('neither prefers nor neglects a collection without vectors beside a complete one', async () => {
      embed = byMeaning;
      await add('zoo', ZOO);
      embed = undefined;
      await add('pond', { 'largest.md': '# Largest frog\n\nThe largest frog is an animal of the largest pond.' });
      embed = byMeaning;
      assert.equal((await titles('largest frog'))[0], 'Largest frog');
      assert.equal((await titles('whale'))[0], 'Whale');
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
