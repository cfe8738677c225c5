import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { unicodeCharacter } from '../../../../test/unicode-character.ts';
import { scalePropertyRuns } from '../../../../test/property-runs.ts';
import { createReplaceableCatalogue, createCatalogue } from '../../../catalogue/catalogue.ts';
import type { ReplaceableCatalogue } from '../../../catalogue/catalogue.ts';
import type { Alias, ModelEntry } from '../../../catalogue/model.ts';
import { openTestStore } from '../../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../../store/store.ts';
import type { VocabularyEntry } from '../../../store/vocabularies.ts';
import { getSupportedLanguages } from './languages.ts';
import { createVocabularies } from './service.ts';
import type { Vocabularies } from './vocabulary.ts';

const START = Date.parse('2026-07-01T12:00:00Z');
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const STRANGERS = [
  { ...OWNER, workspace: 'other' },
  { ...OWNER, region: 'ap-southeast-1' },
] as const;

const model = (name: string, more: Partial<ModelEntry> = {}): ModelEntry => ({
  name,
  description: '',
  runner: { type: 'none', reason: 'no engine' },
  contextTokens: 1,
  abilities: { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false },
  interfaces: ['speech'],
  sampling: {},
  created: 0,
  ...more,
});
const ENTRIES = [
  model('svc-asr'),
  model('svc-asr-realtime'),
  model('svc-plus', { interfaces: ['chat'] }),
  model('asr-abroad', { regions: ['ap-southeast-1'] }),
];
const ALIASES = [
  { pattern: '*-realtime*', model: 'svc-asr-realtime' },
  { pattern: 'paraformer-*', model: 'svc-asr' },
  { pattern: 'fun-asr*', model: 'svc-asr' },
];
const createFakeCatalogue = (entries: readonly ModelEntry[], aliases: readonly Alias[] = ALIASES) =>
  createCatalogue({ entries, weights: [], aliases });

let nowMs = START;
let store: Store;
let catalogue: ReplaceableCatalogue;
let usable: Set<string>;
let vocabularies: Vocabularies;

beforeEach(async () => {
  nowMs = START;
  store = await openTestStore();
  catalogue = createReplaceableCatalogue(createFakeCatalogue(ENTRIES));
  usable = new Set();
  vocabularies = createVocabularies({
    store,
    clock: { now: () => nowMs, monotonic: () => 0 },
    catalogue,
    limits: { vocabulariesMax: 10, entriesMax: 500 },
    isUsable: async (name) => usable.has(name),
  });
});
afterEach(() => store.close());

const OLD: readonly VocabularyEntry[] = [{ text: 'Okonkwo', weight: 4, lang: 'en' }];
const create = (change: object = {}, owner: typeof OWNER | (typeof STRANGERS)[number] = OWNER) =>
  vocabularies.create(owner, { targetModel: 'paraformer-v2', prefix: 'test', entries: OLD, ...change });
const newest = { limit: 10, skip: 0 };

describe('vocabularies', () => {
  it('returns a vocabulary as created, with the prefix in its id', async () => {
    const id = await create({ prefix: 'abc123' });
    assert.match(id, /^vocab-abc123-[0-9a-f]{32}$/);
    const head = { id, targetModel: 'paraformer-v2', createdAt: START, modifiedAt: START, isUsable: false };
    assert.deepEqual(await vocabularies.find(OWNER, id), { ...head, entries: OLD });
    assert.deepEqual(await vocabularies.list(OWNER, newest), [head]);
  });

  it('lists the newest first, in pages, optionally by prefix', async () => {
    const ids: string[] = [];
    for (const prefix of ['a', 'b', 'ab', 'a']) {
      ids.unshift(await create({ prefix }));
      nowMs += 1;
    }
    const list = async (query: object) =>
      (await vocabularies.list(OWNER, { ...newest, ...query })).map(({ id }) => ids.indexOf(id));
    assert.deepEqual(await list({}), [0, 1, 2, 3]);
    assert.deepEqual(await list({ limit: 2 }), [0, 1]);
    assert.deepEqual(await list({ limit: 2, skip: 2 }), [2, 3]);
    assert.deepEqual(await list({ skip: 4 }), []);
    assert.deepEqual(await list({ prefix: 'a' }), [0, 3]);
    assert.deepEqual(await list({ prefix: 'none' }), []);
    await assert.rejects(list({ prefix: 'A' }), { kind: 'invalid-request', param: 'input.prefix' });
  });

  it('replaces all entries on update and sets the modification time', async () => {
    const id = await create();
    nowMs += 5_000;
    const entries = [{ text: '漢字', weight: 1 }];
    await vocabularies.update(OWNER, id, entries);
    const { createdAt, modifiedAt, entries: now } = await vocabularies.find(OWNER, id);
    assert.deepEqual([createdAt, modifiedAt, now], [START, START + 5_000, entries]);
  });

  it('stores all entries of an update or none', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme-ascii', maxLength: 300 }),
      fc.string({ unit: unicodeCharacter, maxLength: 20 }),
      fc.constantFrom('a b c d e f g', 'a b c d e f g h', '', ' ', '漢'.repeat(15), '漢'.repeat(16), '\0', '"\\\ud800'),
    );
    const entry = fc.record(
      {
        text,
        weight: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 5 }) }, fc.constantFrom(0, 6, 1.5)),
        lang: fc.oneof({ weight: 9, arbitrary: fc.constantFrom('zh', 'en', 'ja') }, fc.constantFrom('ko', 'xx')),
      },
      { requiredKeys: ['text', 'weight'], noNullPrototype: true },
    );
    const isGood = (targetModel: string, { text: word, weight, lang }: VocabularyEntry): boolean => {
      const isAscii = [...word].every((each) => each <= '\x7f');
      const isShort = isAscii ? word.length <= 256 && word.trim().split(/\s+/).length <= 7 : [...word].length <= 15;
      const isKnown = lang === undefined || getSupportedLanguages(targetModel).includes(lang);
      return word.trim() !== '' && isShort && Number.isInteger(weight) && weight >= 1 && weight <= 5 && isKnown;
    };
    const names = fc.constantFrom('paraformer-v2', 'fun-asr');
    const changes = fc.array(fc.array(entry, { maxLength: 6 }), { maxLength: 5 });
    await fc.assert(
      fc
        .asyncProperty(names, changes, async (targetModel, lists) => {
          const id = await create({ targetModel, entries: [{ text: 'first', weight: 1 }] });
          let expected: readonly VocabularyEntry[] = [{ text: 'first', weight: 1 }];
          for (const entries of lists) {
            const isTaken = entries.length > 0 && entries.every((each) => isGood(targetModel, each));
            const change = vocabularies.update(OWNER, id, entries);
            if (isTaken) await change;
            else await assert.rejects(change, { kind: 'invalid-request' });
            if (isTaken) expected = entries;
            assert.deepEqual((await vocabularies.find(OWNER, id)).entries, expected);
          }
        })
        .afterEach(async () => {
          for (const { id } of await vocabularies.list(OWNER, newest)) await vocabularies.delete(OWNER, id);
        }),
      { numRuns: scalePropertyRuns(150) },
    );
  });

  it('reports the current usability of the target model', async () => {
    const id = await create();
    const other = await create({ targetModel: 'fun-asr' });
    usable.add('paraformer-v2');
    assert.equal((await vocabularies.find(OWNER, id)).isUsable, true);
    assert.equal((await vocabularies.find(OWNER, other)).isUsable, false);
    const listed = await vocabularies.list(OWNER, newest);
    assert.deepEqual(Object.fromEntries(listed.map((each) => [each.id, each.isUsable])), {
      [id]: true,
      [other]: false,
    });
    usable.clear();
    assert.equal((await vocabularies.find(OWNER, id)).isUsable, false);
  });

  it('does not find a deleted vocabulary in any call', async () => {
    const id = await create();
    await vocabularies.delete(OWNER, id);
    await assertUnknown(OWNER, id);
    assert.deepEqual(await vocabularies.list(OWNER, newest), []);
  });

  it('reports not found if a vocabulary is deleted during an update', async () => {
    const id = await create();
    const change = vocabularies.update(OWNER, id, OLD);
    await Promise.all([assert.rejects(change, { kind: 'resource-not-found' }), vocabularies.delete(OWNER, id)]);
  });

  it('does not find or change vocabularies of other workspaces and regions', async () => {
    const id = await create();
    for (const stranger of STRANGERS) {
      await assertUnknown(stranger, id);
      assert.deepEqual(await vocabularies.list(stranger, newest), []);
    }
    assert.deepEqual((await vocabularies.find(OWNER, id)).entries, OLD);
  });

  async function assertUnknown(owner: (typeof STRANGERS)[number] | typeof OWNER, id: string): Promise<void> {
    const unknown = { kind: 'resource-not-found', message: `Vocabulary '${id}' not found.` };
    await assert.rejects(vocabularies.find(owner, id), unknown);
    await assert.rejects(vocabularies.update(owner, id, OLD), unknown);
    await assert.rejects(vocabularies.update(owner, id, []), unknown);
    await assert.rejects(vocabularies.delete(owner, id), unknown);
    await assert.rejects(vocabularies.findHotwords(owner, id, 'paraformer-v2'), unknown);
  }

  it('limits the number to ten, also for concurrent calls; a deletion frees one', async () => {
    const made = await Promise.allSettled(Array.from({ length: 20 }, () => create()));
    const ids = made.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    assert.equal(ids.length, 10);
    const reasons = made.flatMap((each) => (each.status === 'rejected' ? each.reason : []));
    for (const { kind, message } of reasons) {
      assert.equal(kind, 'count-quota');
      assert.match(message, /^Free allocated quota exceeded\. A workspace may have at most 10 /);
    }
    await create({}, STRANGERS[1]);
    await vocabularies.delete(OWNER, ids[0] ?? '');
    await create();
    await assert.rejects(create(), { kind: 'count-quota' });
  });

  it('requires a speech recognition model that the region offers', async () => {
    for (const targetModel of ['svc-asr', 'svc-asr-realtime', 'paraformer-realtime-v2', 'fun-asr'])
      assert.equal((await vocabularies.find(OWNER, await create({ targetModel }))).targetModel, targetModel);
    for (const targetModel of ['svc-plus', 'no-such-model', '__proto__']) {
      const message = `input.target_model must name a speech recognition model (svc-asr, svc-asr-realtime, asr-abroad), got "${targetModel}".`;
      await assert.rejects(create({ targetModel }), { kind: 'invalid-request', param: 'input.target_model', message });
    }
    await assert.rejects(create({ targetModel: 'asr-abroad' }), { kind: 'forbidden', message: /Singapore/ });
  });

  it('creates nothing if any rule is violated', async () => {
    const changes = [{ prefix: 'A' }, { entries: [] }, { entries: [...OLD, { text: 'x', weight: 6 }] }];
    for (const change of [...changes, { targetModel: 'fun-asr', entries: [{ text: 'x', weight: 1, lang: 'ko' }] }])
      await assert.rejects(create(change), { kind: 'invalid-request' });
    await assert.rejects(create({}, STRANGERS[0]), { kind: 'forbidden' });
    assert.deepEqual(await vocabularies.list(OWNER, newest), []);
  });

  it('returns hotwords with ISO 639-1 languages', async () => {
    const entries = ['zh', 'yue', 'ru'].map((lang) => ({ text: lang, weight: 2, lang }));
    const id = await create({ entries: [...entries, { text: 'any', weight: 5 }] });
    assert.deepEqual(await vocabularies.findHotwords(OWNER, id, 'paraformer-v2'), [
      { text: 'zh', weight: 2, language: 'zh' },
      { text: 'yue', weight: 2, language: 'zh' },
      { text: 'ru', weight: 2, language: 'ru' },
      { text: 'any', weight: 5 },
    ]);
  });

  it('accepts every name of the target model and no other model', async () => {
    const id = await create({ targetModel: 'paraformer-v2' });
    for (const called of ['paraformer-v2', 'fun-asr', 'svc-asr', 'paraformer-8k-v1'])
      assert.equal((await vocabularies.findHotwords(OWNER, id, called)).length, 1);
    const message =
      'vocabulary_id must name a vocabulary of the requested model; this vocabulary belongs to paraformer-v2.';
    for (const called of ['paraformer-realtime-v2', 'svc-asr-realtime', 'svc-plus', 'no-such-model'])
      await assert.rejects(vocabularies.findHotwords(OWNER, id, called), { kind: 'invalid-request', message });
    // Names are resolved with the current catalogue.
    catalogue.replace(createFakeCatalogue([model('svc-asr')], [{ pattern: 'paraformer-*', model: 'gone' }]));
    for (const called of ['paraformer-v2', 'svc-asr'])
      await assert.rejects(vocabularies.findHotwords(OWNER, id, called), { kind: 'invalid-request', message });
  });
});
