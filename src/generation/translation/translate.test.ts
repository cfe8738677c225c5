import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { createTestGeneration } from '../__fixtures__/test-generation.ts';
import { mixedText } from './__fixtures__/mixed-text.ts';
import {
  TRANSLATION_CONTEXT,
  createTestTranslator,
  getLanguage,
  createTranslationRequest,
} from './__fixtures__/test-translator.ts';
import { findProtectedSpans } from './protected-spans.ts';
import { createTranslate } from './translate.ts';

const toUpperCase = ({ text }: { readonly text: string }): string => text.toUpperCase();
const park = [{ source: 'park', target: 'Stadtgarten' }];

describe('translate', () => {
  it('translates each line separately, and keeps the text between lines', async () => {
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    const { text } = await translateAll(createTranslationRequest('# One.\n\n- two. Three!\n```\ncode\n```\n'));
    assert.equal(text, '# ONE.\n\n- TWO. THREE!\n```\ncode\n```\n');
    assert.deepEqual(
      modelCalls.map((run) => run.text),
      ['One.', 'two. Three!'],
    );
    assert.match(modelCalls[0]?.instruction ?? '', /from English into German/);
  });

  it('detects a missing source language, and passes on other request fields', async () => {
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    const request = createTranslationRequest(
      'Salut.',
      { domains: 'Be brief.' },
      { sampling: { temperature: 0.3, seed: 7 } },
    );
    const { source: _, ...options } = request.options ?? assert.fail();
    const { ignored } = await translateAll({ ...request, options });
    assert.match(modelCalls[0]?.instruction ?? '', /from French into German/);
    assert.match(modelCalls[0]?.instruction ?? '', /Be brief\./);
    assert.deepEqual(modelCalls[0]?.request.sampling, { temperature: 0.3, seed: 7 });
    assert.deepEqual(ignored, ['top_k']);
  });

  it('emits a delta per finished segment, and the total usage at the end', async () => {
    const { translate } = createTestTranslator(toUpperCase);
    const { batches } = await translate(
      createTranslationRequest('One.\nTwo.\n'),
      { interface: 'chat' },
      TRANSLATION_CONTEXT,
    );
    const all = await Array.fromAsync(batches);
    assert.deepEqual(
      all.map((batch) => batch.map((event) => (event.type === 'block-delta' ? event.text : event.type))),
      [['start', 'block-start', 'ONE.'], ['\nTWO.'], ['\n'], ['block-end', 'choice-end', 'end']],
    );
    const end = all.flat().at(-1);
    assert.deepEqual(end?.type === 'end' && end.usage, { promptTokens: 20, cachedTokens: 4, completionTokens: 2 });
  });

  it('inserts spaces between sentences when the target script uses spaces', async () => {
    const known = [
      { source: '一。', target: 'One.' },
      { source: '二。', target: 'Two.' },
    ];
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    const { text } = await translateAll(
      createTranslationRequest('一。二。', { source: getLanguage('Chinese'), memory: known }),
    );
    assert.equal(text, 'One. Two.');
    assert.equal(
      (await translateAll(createTranslationRequest('一。二。', { target: getLanguage('Japanese'), memory: known })))
        .text,
      'One.Two.',
    );
    assert.equal(modelCalls.length, 0);
  });

  it('translates the next segment in advance, unless the caller set a token limit', async () => {
    for (const [limit, started] of [
      [{}, ['One.', 'Two.']],
      [{ maxTokens: 9 }, ['One.']],
    ] as const) {
      const { translate, modelCalls } = createTestTranslator(toUpperCase);
      const { batches } = await translate(
        createTranslationRequest('One.\nTwo.\nThree.', {}, limit),
        { interface: 'chat' },
        TRANSLATION_CONTEXT,
      );
      await batches[Symbol.asyncIterator]().next();
      assert.deepEqual(
        modelCalls.map(({ text }) => text),
        [...started],
      );
    }
  });

  it('translates the text of Markdown links, and keeps their structure whatever the model does', async () => {
    const source = 'Read [the guide. It helps](https://a.example/g "Guide") or ![a map](m.png).';
    const keeping = createTestTranslator(toUpperCase);
    assert.equal(
      (await keeping.translateAll(createTranslationRequest(source))).text,
      'READ [THE GUIDE. IT HELPS](https://a.example/g "Guide") OR ![A MAP](m.png).',
    );
    assert.deepEqual(
      keeping.modelCalls.map(({ text }) => text),
      ['Read [1]the guide. It helps[2] or [3]a map[4].'],
    );
    const dropping = createTestTranslator(({ text }) => text.toUpperCase().replaceAll(/\[\d\]/g, ''));
    assert.equal(
      (await dropping.translateAll(createTranslationRequest(source))).text,
      'READ [THE GUIDE. IT HELPS](https://a.example/g "Guide") OR ![A MAP](m.png).',
    );
  });

  it('asks once more for a wrong number or unit, naming it, and reports what remains', async () => {
    const source = 'The lake is 5 km away.';
    const learning = createTestTranslator(({ instruction }) =>
      instruction.includes('as in the text: 5 km.') ? 'Der See ist 5 km entfernt.' : 'Der See ist 5 m entfernt.',
    );
    const { text, report } = await learning.translateAll(createTranslationRequest(source));
    assert.equal(text, 'Der See ist 5 km entfernt.');
    assert.equal(report, 'unverified; segments=1; untranslated=0; numbers=0; repeated=0');
    assert.equal(learning.modelCalls.length, 2);
    const failing = createTestTranslator(() => 'Der See ist 5 m entfernt.');
    const failed = await failing.translateAll(createTranslationRequest(source));
    assert.equal(failed.report, 'unverified; segments=1; untranslated=0; numbers=1; repeated=0');
    assert.equal(failing.modelCalls.length, 2);
  });

  it('asks once more for a sentence in the source language, and reports one that stays', async () => {
    const source = 'The library opens at nine.';
    const learning = createTestTranslator(({ instruction }) =>
      instruction.includes('Write every word in German')
        ? 'Die Bibliothek öffnet um neun.'
        : 'The library opens um neun.',
    );
    assert.equal(
      (await learning.translateAll(createTranslationRequest(source))).text,
      'Die Bibliothek öffnet um neun.',
    );
    const failing = createTestTranslator(() => 'The library opens um neun.');
    const { report } = await failing.translateAll(createTranslationRequest(`${source}\nThanks.`));
    assert.equal(report, 'unverified; segments=2; untranslated=1; numbers=0; repeated=0');
    assert.equal(failing.modelCalls.length, 3);
  });

  it('asks once more for a term that occurs twice', async () => {
    const learning = createTestTranslator(({ instruction }) =>
      instruction.includes('and not twice') ? 'Der Stadtgarten ist offen.' : 'Der Stadtgarten (Stadtgarten) ist offen.',
    );
    const request = createTranslationRequest('The park is open.', { terms: park });
    const { text, report, termScore } = await learning.translateAll(request);
    assert.deepEqual([text, termScore], ['Der Stadtgarten ist offen.', '1/1']);
    assert.match(report ?? '', /repeated=0/);
    const failing = await createTestTranslator(() => 'Stadtgarten, Stadtgarten.').translateAll(request);
    assert.match(failing.report ?? '', /repeated=1/);
  });

  it('reports a text of the memory as such', async () => {
    const memory = [{ source: 'One.', target: 'Eins.' }];
    const { report } = await createTestTranslator(toUpperCase).translateAll(
      createTranslationRequest('One.', { memory }),
    );
    assert.equal(report, 'memory');
  });

  it('uses exact matches of the memory, and shows similar ones as examples', async () => {
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    const memory = [
      { source: 'The red park is open today.', target: 'A' },
      { source: 'Nothing of the kind', target: 'B' },
      { source: 'We  go.', target: 'Gehen wir.' },
    ];
    const { text } = await translateAll(createTranslationRequest('We go. The blue park is open today.', { memory }));
    assert.equal(text, 'Gehen wir. THE BLUE PARK IS OPEN TODAY.');
    assert.deepEqual(modelCalls[0]?.examples, ['The red park is open today.', 'A']);
  });

  it('shows the three most similar pairs of the memory, the best first', async () => {
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    const sources = ['The park was shut.', 'The park is open.', 'The park is shut.', 'The park is open now.'];
    await translateAll(
      createTranslationRequest('The park is open today.', {
        memory: sources.map((source) => ({ source, target: 'x' })),
      }),
    );
    const shown = modelCalls[0]?.examples.filter((each) => each !== 'x');
    assert.deepEqual(shown, ['The park is open.', 'The park is open now.', 'The park is shut.']);
  });

  it('applies the caller’s token limit to all segments together', async () => {
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    const limited = await translateAll(createTranslationRequest('One.\nTwo.\nThree.', {}, { maxTokens: 2 }));
    assert.deepEqual([limited.text, limited.reason], ['ONE.\nTWO.\n', 'length']);
    assert.deepEqual(
      modelCalls.map(({ request }) => request.maxTokens),
      [2, 1],
    );
    const cut = await createTestTranslator(() => ({ text: 'ON', reason: 'length' })).translateAll(
      createTranslationRequest('One.'),
    );
    assert.deepEqual([cut.text, cut.reason], ['ON', 'length']);
  });

  it('applies the caller’s total token limit in the same way', async () => {
    const { translateAll } = createTestTranslator(toUpperCase);
    const limited = await translateAll(createTranslationRequest('One.\nTwo.\nThree.', {}, { maxTotalTokens: 2 }));
    assert.deepEqual([limited.text, limited.reason], ['ONE.\nTWO.\n', 'length']);
  });

  it('applies the limit to the parts between protected parts as well', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ text }) => ({
      text: text.replaceAll(/\[\d+\]/g, '').toUpperCase(),
      reason: 'stop',
      tokens: 3,
    }));
    await translateAll(createTranslationRequest('Dear {name}, come to `x.y` now.', {}, { maxTokens: 7 }));
    assert.deepEqual(
      modelCalls.map(({ request }) => request.maxTokens),
      [7, 7, 4, 1],
    );
  });

  it('ends with length when any part was cut', async () => {
    const { translateAll } = createTestTranslator(({ text }) => ({
      text: text.toUpperCase(),
      reason: text === 'One.' ? 'length' : 'stop',
    }));
    const { text, reason } = await translateAll(createTranslationRequest('One.\nTwo.'));
    assert.deepEqual([text, reason], ['ONE.\nTWO.', 'length']);
  });

  it('limits endless answers, retries once with a larger limit, and ends with stop', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ request }) => ({
      text: 'so so',
      reason: 'length',
      tokens: request.maxTokens ?? 0,
    }));
    const { text, reason } = await translateAll(createTranslationRequest('Twelve lines'));
    assert.deepEqual([text, reason], ['so so', 'stop']);
    assert.deepEqual(
      modelCalls.map(({ request }) => request.maxTokens),
      [88, 352],
    );
    assert.equal(
      (await translateAll(createTranslationRequest('Twelve lines', {}, { maxTokens: 100 }))).reason,
      'length',
    );
    assert.deepEqual(
      modelCalls.slice(2).map(({ request }) => request.maxTokens),
      [88, 100],
    );
  });

  it('sets higher limits for token-heavy scripts and dense characters', async () => {
    for (const [text, target, limit] of [
      ['abcdefghij', 'Burmese', 144],
      ['abcdefghij', 'Kannada', 144],
      ['abcdefghij', 'Georgian', 144],
      ['猫在睡觉猫在睡觉猫在', 'German', 144],
      ['猫在睡觉猫在睡觉猫在', 'Tamil', 384],
    ] as const) {
      const { translateAll, modelCalls } = createTestTranslator(() => 'x');
      await translateAll(createTranslationRequest(text, { target: getLanguage(target) }));
      assert.equal(modelCalls[0]?.request.maxTokens, limit);
    }
  });

  it('does not retry an answer that the caller’s limit cut', async () => {
    const { translateAll, modelCalls } = createTestTranslator(() => ({ text: 'Der', reason: 'length' }));
    const cut = await translateAll(createTranslationRequest('The park.', { terms: park }, { maxTokens: 1 }));
    assert.deepEqual([cut.text, cut.reason, cut.termScore, modelCalls.length], ['Der', 'length', '0/1', 1]);
  });

  it('reports request fields without effect as ignored', async () => {
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    const { ignored } = await translateAll(
      createTranslationRequest(
        'One.',
        {},
        { stop: { strings: ['x'], tokens: [] }, logprobs: { top: 1 }, outputFormat: { type: 'json-object' } },
      ),
    );
    assert.deepEqual(ignored, ['top_k', 'stop', 'logprobs', 'response_format']);
    assert.deepEqual([modelCalls[0]?.request.logprobs, modelCalls[0]?.request.outputFormat], [undefined, undefined]);
  });

  it('repeats the run without the line stop when the answer starts with an empty line', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ request }) =>
      request.stop.strings.length > 0 ? '' : '\n\nEins.\nNote.',
    );
    assert.equal((await translateAll(createTranslationRequest('One.'))).text, 'Eins.');
    assert.equal(modelCalls.length, 2);
  });

  it('answers the message itself without options', async () => {
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    const { options: _, ...bare } = createTranslationRequest('Translate "one" into German.');
    const { text, termScore } = await translateAll(bare);
    assert.deepEqual([text, termScore, modelCalls.length], ['TRANSLATE "ONE" INTO GERMAN.', undefined, 1]);
  });

  it('returns a text without words unchanged, without a model run', async () => {
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    assert.equal((await translateAll(createTranslationRequest(' 12:30 \n{name}\n'))).text, ' 12:30 \n{name}\n');
    assert.equal(modelCalls.length, 0);
  });

  it('uses the memory for a whole text or line of several sentences', async () => {
    const { translateAll, modelCalls } = createTestTranslator(toUpperCase);
    const memory = [
      { source: 'Dr. Smith arrived.', target: 'Dr. Smith kam an.' },
      { source: 'Dr. Smith arrived.', target: 'the second of two' },
      { source: 'One.  Two.', target: 'Eins und zwei.' },
      { source: '- Three.', target: '* Drei.' },
      { source: 'One.\nTwo.', target: 'Eins.\n\nZwei.' },
    ];
    for (const [text, translation] of [
      ['Dr. Smith arrived.', 'Dr. Smith kam an.'],
      ['  - Dr. Smith arrived.\n- Three.', '  - Dr. Smith kam an.\n* Drei.'],
      ['# One. Two.\n', '# Eins und zwei.\n'],
      [' One.\r\nTwo.\n', ' Eins.\n\nZwei.\n'],
    ] as const)
      assert.equal((await translateAll(createTranslationRequest(text, { memory }))).text, translation);
    assert.equal(modelCalls.length, 0);
    assert.equal(
      (await translateAll(createTranslationRequest('Four. Dr. Smith arrived. Five.', { memory }))).text,
      'FOUR. Dr. Smith kam an. FIVE.',
    );
  });

  it('inserts no space into a word or number that was cut', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ text }) => text.toUpperCase());
    const long = `${'a '.repeat(500)}${'abc128,236'.repeat(60)}`;
    assert.equal((await translateAll(createTranslationRequest(long))).text, long.toUpperCase());
    assert.ok(modelCalls.some(({ text }) => /^[abc\d,]{40,599}$/.test(text)));
  });

  it('keeps a sentence that no answer translates, and logs it', async () => {
    const logFields: Record<string, unknown> = {};
    const { translate, modelCalls } = createTestTranslator(({ text }) => (text === 'One.' ? '' : 'Zwei.'));
    const log = { add: (more: object) => void Object.assign(logFields, more), warn: () => undefined };
    const { batches } = await translate(
      createTranslationRequest('One.\nTwo.'),
      { interface: 'chat' },
      { ...TRANSLATION_CONTEXT, log },
    );
    const events = (await Array.fromAsync(batches)).flat();
    assert.equal(events.map((event) => (event.type === 'block-delta' ? event.text : '')).join(''), 'One.\nZwei.');
    assert.equal(logFields['untranslatedSegments'], 1);
    assert.ok(modelCalls.some(({ instruction }) => /do not leave it out/.test(instruction)));
  });

  it('skips a line that only announces the translation, but keeps a real final colon', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ text, request }) => {
      if (text.startsWith('Colon')) return 'Doppelpunkt:';
      return request.stop.strings.length > 0 ? 'Hier ist es:' : 'Hier ist es:\n\nEins.\nNote';
    });
    assert.equal((await translateAll(createTranslationRequest('One.'))).text, 'Eins.');
    assert.equal(modelCalls.length, 2);
    assert.equal((await translateAll(createTranslationRequest('Colon'))).text, 'Doppelpunkt:');
    assert.equal(modelCalls.length, 3);
    assert.equal((await translateAll(createTranslationRequest('Colon.'))).text, 'Doppelpunkt:');
  });

  it('retries when the answer repeats the text, unless both languages are the same', async () => {
    const echo = ({ instruction, text }: { readonly instruction: string; readonly text: string }): string =>
      instruction.includes('Do not repeat') ? 'Der Park.' : text;
    const { translateAll, modelCalls } = createTestTranslator(echo);
    assert.equal((await translateAll(createTranslationRequest('The park.'))).text, 'Der Park.');
    assert.equal(
      (await translateAll(createTranslationRequest('The park.', { source: getLanguage('German') }))).text,
      'The park.',
    );
    assert.equal(modelCalls.length, 3);
    const stubborn = createTestTranslator(({ text }) => text);
    assert.equal((await stubborn.translateAll(createTranslationRequest('Google'))).text, 'Google');
  });

  it('refuses an empty text and a too long input, terms and memory included, with limit and count', async () => {
    const { translateAll } = createTestTranslator(toUpperCase);
    await assert.rejects(translateAll(createTranslationRequest('')), {
      kind: 'invalid-request',
      message: 'Range of input length should be [1, 8192] (messages: 0 tokens)',
    });
    const long = 'a '.repeat(8_192);
    assert.equal((await translateAll(createTranslationRequest(long))).text, long.toUpperCase());
    await assert.rejects(translateAll(createTranslationRequest(long, { domains: 'b' })), {
      message: /should be \[1, 8192\] \(messages: 8193 tokens\)/,
    });
    for (const pairs of ['memory', 'terms'])
      await assert.rejects(translateAll(createTranslationRequest(long, { [pairs]: [{ source: 'b', target: 'c' }] })), {
        message: /\(messages: \d+ tokens\)/,
      });
  });
});

describe('protected parts of a translation', () => {
  it('are restored when the model keeps their marks', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ text }) => text.split(' ').toReversed().join(' '));
    assert.equal(
      (await translateAll(createTranslationRequest('Dear {name} and <b>you</b> of %s'))).text,
      '%s of <b>you</b> and {name} Dear',
    );
    assert.equal(modelCalls[0]?.text, 'Dear [1] and [2]you[3] of [4]');
    assert.match(modelCalls[0]?.instruction ?? '', /Keep marks such as \[1\]/);
  });

  it('are kept when the model drops their marks, by translating the text between them', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ text }) =>
      text.replaceAll(/\[\d+\]/g, '').toUpperCase(),
    );
    assert.equal(
      (await translateAll(createTranslationRequest('Dear {name}, come to `x.y` now.'))).text,
      'DEAR {name}, COME TO `x.y` NOW.',
    );
    assert.deepEqual(
      modelCalls.map((run) => run.text),
      ['Dear [1], come to [2] now.', 'Dear', ', come to', 'now.'],
    );
  });

  it('survive any text and any answer', async () => {
    const answers = [
      (text: string) => text,
      (text: string) => text.toUpperCase(),
      (text: string) => text.replaceAll(/\[\d+\]/g, ''),
      (text: string) => text.replace(/\[\d+\]/, ''),
      (text: string) => `${text} [1] [99]`,
      (text: string) => text.split(' ').toReversed().join(' '),
      () => 'abc',
      () => '',
    ];
    const listProtected = (text: string): string[] =>
      findProtectedSpans(text)
        .map(({ start, end }) => text.slice(start, end))
        .toSorted();
    await fc.assert(
      fc.asyncProperty(
        mixedText.filter((text) => text !== ''),
        fc.constantFrom(...answers),
        async (source, answer) => {
          const { text } = await createTestTranslator((call) => answer(call.text)).translateAll(
            createTranslationRequest(source),
          );
          for (const part of new Set(listProtected(source))) {
            const count = (whole: string): number => whole.split(part).length - 1;
            assert.ok(
              count(text) >= listProtected(source).filter((each) => each === part).length,
              `${part} in ${text}`,
            );
          }
        },
      ),
      { numRuns: scalePropertyRuns(300) },
    );
  });
});

describe('terms of a translation', () => {
  it('are in the instruction only if they occur in the text, and are counted', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ text }) =>
      text.toUpperCase().replace('PARK', 'Stadtgarten'),
    );
    const terms = [...park, { source: 'lake', target: 'Weiher' }];
    const { text, termScore: score } = await translateAll(createTranslationRequest('The park is big.', { terms }));
    assert.deepEqual([text, score], ['THE Stadtgarten IS BIG.', '1/1']);
    assert.equal(modelCalls.length, 1);
    assert.match(modelCalls[0]?.instruction ?? '', /"park" as "Stadtgarten"/);
    assert.doesNotMatch(modelCalls[0]?.instruction ?? '', /lake/);
    assert.equal((await translateAll(createTranslationRequest('The sea.', { terms }))).termScore, '0/0');
  });

  it('appends missing terms in the text, and deduplicates them in the answer', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ text }) =>
      text.includes('(') ? 'Der Park (Stadtgarten) ist groß.' : 'Der Park.',
    );
    const { text, termScore } = await translateAll(createTranslationRequest('The park is big.', { terms: park }));
    assert.deepEqual([text, termScore], ['Der Stadtgarten ist groß.', '1/1']);
    assert.deepEqual(
      modelCalls.map((run) => run.text),
      ['The park is big.', 'The park (Stadtgarten) is big.'],
    );
  });

  it('replaces the source words by terms that are still missing', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ text }) =>
      text.includes('park') ? 'Der Park.' : 'Der Stadtgarten.',
    );
    const { text, termScore } = await translateAll(createTranslationRequest('The park is big.', { terms: park }));
    assert.deepEqual([text, termScore], ['Der Stadtgarten.', '1/1']);
    assert.match(modelCalls[2]?.instruction ?? '', /Keep "Stadtgarten" as it is\./);
    assert.doesNotMatch(modelCalls[2]?.instruction ?? '', /"park"/);
  });

  it('turns terms that the model still translates into marks, like protected parts', async () => {
    const { translateAll, modelCalls } = createTestTranslator(({ text }) =>
      text.includes('[2]') ? 'Der [2] von [1].' : 'Der Park von [1].',
    );
    const { text, termScore } = await translateAll(createTranslationRequest('The park of {name}.', { terms: park }));
    assert.deepEqual([text, termScore], ['Der Stadtgarten von {name}.', '1/1']);
    assert.equal(modelCalls[3]?.text, 'The [2] of [1].');
    assert.match(modelCalls[3]?.instruction ?? '', /Keep marks/);
  });

  it('reports terms that every attempt misses, even for one missing occurrence', async () => {
    const { translateAll } = createTestTranslator(() => 'Der Park.');
    const { text, termScore } = await translateAll(createTranslationRequest('The park is big.', { terms: park }));
    assert.deepEqual([text, termScore], ['Der Park.', '0/1']);
    const other = createTestTranslator(({ text: source }) => (source.startsWith('A') ? 'Stadtgarten' : 'Park'));
    assert.equal(
      (await other.translateAll(createTranslationRequest('A park.\nThe park.', { terms: park }))).termScore,
      '0/1',
    );
  });

  it('are taken from the attempt with the most wordings', async () => {
    const answers = ['Stadtgarten', 'Stadtgarten am Weiher', 'Teich'];
    const { translateAll } = createTestTranslator(() => answers.shift() ?? '');
    const terms = [...park, { source: 'lake', target: 'Weiher' }, { source: 'big', target: 'riesig' }];
    const { text, termScore: score } = await translateAll(
      createTranslationRequest('The big park at the lake.', { terms }),
    );
    assert.deepEqual([text, score], ['Stadtgarten am Weiher', '2/3']);
  });

  it('count as missing when one of two occurrences lacks the wording', async () => {
    const { translateAll } = createTestTranslator(() => 'Der Stadtgarten liegt beim anderen Park.');
    assert.equal(
      (await translateAll(createTranslationRequest('The park is near the other park.', { terms: park }))).termScore,
      '0/1',
    );
    const answers = ['Der Park beim Park.', 'Der Stadtgarten beim Park.', 'Der Park beim Park.'];
    const better = createTestTranslator(() => answers.shift() ?? 'Der Park.');
    const { text } = await better.translateAll(
      createTranslationRequest('The park is near the other park.', { terms: park }),
    );
    assert.equal(text, 'Der Stadtgarten beim Park.');
  });

  it('are not matched by a different word in another case', async () => {
    const { translateAll } = createTestTranslator(() => 'Let us go there.');
    const { text, termScore } = await translateAll(
      createTranslationRequest('Die USA.', { terms: [{ source: 'USA', target: 'US' }] }),
    );
    assert.deepEqual([text, termScore], ['Let us go there.', '0/1']);
  });

  it('are not found inside protected parts', async () => {
    const { translateAll } = createTestTranslator(({ text }) => text);
    assert.equal(
      (await translateAll(createTranslationRequest('See https://a.example/park now.', { terms: park }))).termScore,
      '0/0',
    );
  });
});

describe('canceled translation', () => {
  const start = async (text: string) => {
    const ended: boolean[] = [];
    const engine = createScriptedEngine({
      script: ({ input }) => [
        { type: 'tokens', tokens: ['Eins.'] },
        ...(JSON.stringify(input).includes('hang') ? [{ type: 'hang' } as const] : []),
      ],
      contextTokens: 1_000,
      onRunEnd: ({ isCancelled }) => void ended.push(isCancelled),
    });
    const generation = createTestGeneration(engine);
    const translate = createTranslate({ ...generation.deps, detectLanguage: async () => undefined });
    const request = createTranslationRequest(text, {}, { model: 'm' });
    return {
      testGeneration: generation,
      ended,
      translation: await translate(request, { interface: 'chat' }, generation.context),
    };
  };

  it('aborts the active run and releases its resources', async () => {
    const { testGeneration, ended, translation } = await start('One hang.');
    const reader = translation.batches[Symbol.asyncIterator]();
    const next = reader.next();
    await reader.return?.();
    await assert.rejects(next, { kind: 'cancelled' });
    assert.deepEqual(ended, [true]);
    assert.deepEqual([testGeneration.records.permits, testGeneration.records.releases], [1, 1]);
  });

  it('logs the usage of all runs, the aborted run included', async () => {
    const { testGeneration, translation } = await start('One.\nTwo hang.');
    const reader = translation.batches[Symbol.asyncIterator]();
    await reader.next();
    const next = reader.next();
    await reader.return?.();
    await assert.rejects(next, { kind: 'cancelled' });
    const sum = testGeneration.records.settled.reduce((total, { usage }) => total + usage.promptTokens, 0);
    assert.equal(testGeneration.records.settled.length, 2);
    assert.equal(testGeneration.records.logFields['promptTokens'], sum);
  });

  it('releases its resources before the first event is read', async () => {
    const { testGeneration, translation } = await start('One hang.');
    await translation.batches[Symbol.asyncIterator]().return?.();
    assert.deepEqual([testGeneration.records.permits, testGeneration.records.releases], [1, 1]);
  });

  it('releases its resources between two segments', async () => {
    const { testGeneration, translation } = await start('One.\nTwo hang.');
    const reader = translation.batches[Symbol.asyncIterator]();
    assert.ok(!(await reader.next()).done);
    testGeneration.caller.abort(new Error('gone'));
    await assert.rejects(reader.next());
    assert.equal(testGeneration.records.releases, testGeneration.records.permits);
  });

  it('rejects before the first event when the first run fails', async () => {
    const engine = createScriptedEngine({ script: () => [{ type: 'fail', kind: 'overloaded' }], contextTokens: 1_000 });
    const generation = createTestGeneration(engine);
    const translate = createTranslate({ ...generation.deps, detectLanguage: async () => undefined });
    await assert.rejects(
      translate(createTranslationRequest('One.', {}, { model: 'm' }), { interface: 'chat' }, generation.context),
      {
        kind: 'overloaded',
      },
    );
    assert.deepEqual([generation.records.permits, generation.records.releases], [1, 1]);
  });
});
