import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { createHouse } from '../__fixtures__/house.ts';
import { mixedText } from './__fixtures__/mixed-text.ts';
import { CONTEXT, createTranslator, language, wishFor } from './__fixtures__/translator.ts';
import { protectedSpans } from './protected-spans.ts';
import { createTranslate } from './translate.ts';

const upper = ({ text }: { readonly text: string }): string => text.toUpperCase();
const park = [{ source: 'park', target: 'Stadtgarten' }];

describe('a translation', () => {
  it('asks for each line by itself, and keeps what is between', async () => {
    const { whole, asked } = createTranslator(upper);
    const { text } = await whole(wishFor('# One.\n\n- two. Three!\n```\ncode\n```\n'));
    assert.equal(text, '# ONE.\n\n- TWO. THREE!\n```\ncode\n```\n');
    assert.deepEqual(
      asked.map((run) => run.text),
      ['One.', 'two. Three!'],
    );
    assert.match(asked[0]?.instruction ?? '', /from English into German/);
  });

  it('finds out the language where nobody says it, and passes on what else was asked for', async () => {
    const { whole, asked } = createTranslator(upper);
    const wish = wishFor('Salut.', { domains: 'Be brief.' }, { sampling: { temperature: 0.3, seed: 7 } });
    const { source: _, ...options } = wish.options ?? assert.fail();
    const { ignored } = await whole({ ...wish, options });
    assert.match(asked[0]?.instruction ?? '', /from French into German/);
    assert.match(asked[0]?.instruction ?? '', /Be brief\./);
    assert.deepEqual(asked[0]?.request.sampling, { temperature: 0.3, seed: 7 });
    assert.deepEqual(ignored, ['top_k']);
  });

  it('tells a segment in a delta when it is done, and at the end what all runs took', async () => {
    const { translate } = createTranslator(upper);
    const { batches } = await translate(wishFor('One.\nTwo.\n'), { interface: 'chat' }, CONTEXT);
    const all = await Array.fromAsync(batches);
    assert.deepEqual(
      all.map((batch) => batch.map((event) => (event.type === 'block-delta' ? event.text : event.type))),
      [['start', 'block-start', 'ONE.'], ['\nTWO.'], ['\n'], ['block-end', 'choice-end', 'end']],
    );
    const end = all.flat().at(-1);
    assert.deepEqual(end?.type === 'end' && end.usage, { promptTokens: 20, cachedTokens: 4, completionTokens: 2 });
  });

  it('puts a blank between sentences that had none where the target’s writing has them', async () => {
    const known = [
      { source: '一。', target: 'One.' },
      { source: '二。', target: 'Two.' },
    ];
    const { whole, asked } = createTranslator(upper);
    const { text } = await whole(wishFor('一。二。', { source: language('Chinese'), memory: known }));
    assert.equal(text, 'One. Two.');
    assert.equal((await whole(wishFor('一。二。', { target: language('Japanese'), memory: known }))).text, 'One.Two.');
    assert.equal(asked.length, 0);
  });

  it('works on the next segment while one is told, unless the caller has a limit', async () => {
    for (const [limit, begun] of [
      [{}, ['One.', 'Two.']],
      [{ maxTokens: 9 }, ['One.']],
    ] as const) {
      const { translate, asked } = createTranslator(upper);
      const { batches } = await translate(wishFor('One.\nTwo.\nThree.', {}, limit), { interface: 'chat' }, CONTEXT);
      await batches[Symbol.asyncIterator]().next();
      assert.deepEqual(
        asked.map(({ text }) => text),
        [...begun],
      );
    }
  });

  it('takes exact hits of the memory as they are, and shows near ones as examples', async () => {
    const { whole, asked } = createTranslator(upper);
    const memory = [
      { source: 'The red park is open today.', target: 'A' },
      { source: 'Nothing of the kind', target: 'B' },
      { source: 'We  go.', target: 'Gehen wir.' },
    ];
    const { text } = await whole(wishFor('We go. The blue park is open today.', { memory }));
    assert.equal(text, 'Gehen wir. THE BLUE PARK IS OPEN TODAY.');
    assert.deepEqual(asked[0]?.examples, ['The red park is open today.', 'A']);
  });

  it('shows the three nearest of the memory, the nearest first', async () => {
    const { whole, asked } = createTranslator(upper);
    const sources = ['The park was shut.', 'The park is open.', 'The park is shut.', 'The park is open now.'];
    await whole(wishFor('The park is open today.', { memory: sources.map((source) => ({ source, target: 'x' })) }));
    const shown = asked[0]?.examples.filter((each) => each !== 'x');
    assert.deepEqual(shown, ['The park is open.', 'The park is open now.', 'The park is shut.']);
  });

  it('has the caller’s token limit for all segments together', async () => {
    const { whole, asked } = createTranslator(upper);
    const limited = await whole(wishFor('One.\nTwo.\nThree.', {}, { maxTokens: 2 }));
    assert.deepEqual([limited.text, limited.reason], ['ONE.\nTWO.\n', 'length']);
    assert.deepEqual(
      asked.map(({ request }) => request.maxTokens),
      [2, 1],
    );
    const cut = await createTranslator(() => ({ text: 'ON', reason: 'length' })).whole(wishFor('One.'));
    assert.deepEqual([cut.text, cut.reason], ['ON', 'length']);
  });

  it('has the caller’s limit of all tokens in the same way', async () => {
    const { whole } = createTranslator(upper);
    const limited = await whole(wishFor('One.\nTwo.\nThree.', {}, { maxTotalTokens: 2 }));
    assert.deepEqual([limited.text, limited.reason], ['ONE.\nTWO.\n', 'length']);
  });

  it('has that limit also over the parts of a sentence between protected ones', async () => {
    const { whole, asked } = createTranslator(({ text }) => ({
      text: text.replaceAll(/\[\d+\]/g, '').toUpperCase(),
      reason: 'stop',
      tokens: 3,
    }));
    await whole(wishFor('Dear {name}, come to `x.y` now.', {}, { maxTokens: 7 }));
    assert.deepEqual(
      asked.map(({ request }) => request.maxTokens),
      [7, 7, 4, 1],
    );
  });

  it('says that it was cut when any of its parts was', async () => {
    const { whole } = createTranslator(({ text }) => ({
      text: text.toUpperCase(),
      reason: text === 'One.' ? 'length' : 'stop',
    }));
    const { text, reason } = await whole(wishFor('One.\nTwo.'));
    assert.deepEqual([text, reason], ['ONE.\nTWO.', 'length']);
  });

  it('has a limit of ours for answers that do not end, a larger one once, and neither is told as the caller’s', async () => {
    const { whole, asked } = createTranslator(({ request }) => ({
      text: 'so so',
      reason: 'length',
      tokens: request.maxTokens ?? 0,
    }));
    const { text, reason } = await whole(wishFor('Twelve lines'));
    assert.deepEqual([text, reason], ['so so', 'stop']);
    assert.deepEqual(
      asked.map(({ request }) => request.maxTokens),
      [88, 352],
    );
    assert.equal((await whole(wishFor('Twelve lines', {}, { maxTokens: 100 }))).reason, 'length');
    assert.deepEqual(
      asked.slice(2).map(({ request }) => request.maxTokens),
      [88, 100],
    );
  });

  it('has room for writing of many tokens, and for text of many words a character', async () => {
    for (const [text, target, limit] of [
      ['abcdefghij', 'Burmese', 144],
      ['abcdefghij', 'Kannada', 144],
      ['abcdefghij', 'Georgian', 144],
      ['猫在睡觉猫在睡觉猫在', 'German', 144],
      ['猫在睡觉猫在睡觉猫在', 'Tamil', 384],
    ] as const) {
      const { whole, asked } = createTranslator(() => 'x');
      await whole(wishFor(text, { target: language(target) }));
      assert.equal(asked[0]?.request.maxTokens, limit);
    }
  });

  it('does not ask again where a limit cut the answer', async () => {
    const { whole, asked } = createTranslator(() => ({ text: 'Der', reason: 'length' }));
    const cut = await whole(wishFor('The park.', { terms: park }, { maxTokens: 1 }));
    assert.deepEqual([cut.text, cut.reason, cut.terms, asked.length], ['Der', 'length', '0/1', 1]);
  });

  it('says of wishes that have no place in it that they are not heard', async () => {
    const { whole, asked } = createTranslator(upper);
    const { ignored } = await whole(
      wishFor(
        'One.',
        {},
        { stop: { strings: ['x'], tokens: [] }, logprobs: { top: 1 }, outputFormat: { type: 'json-object' } },
      ),
    );
    assert.deepEqual(ignored, ['top_k', 'stop', 'logprobs', 'response_format']);
    assert.deepEqual([asked[0]?.request.logprobs, asked[0]?.request.outputFormat], [undefined, undefined]);
  });

  it('asks once more, without the end at a line, where the answer began with an empty one', async () => {
    const { whole, asked } = createTranslator(({ request }) =>
      request.stop.strings.length > 0 ? '' : '\n\nEins.\nNote.',
    );
    assert.equal((await whole(wishFor('One.'))).text, 'Eins.');
    assert.equal(asked.length, 2);
  });

  it('without options is the answer to the message', async () => {
    const { whole, asked } = createTranslator(upper);
    const { options: _, ...bare } = wishFor('Translate "one" into German.');
    const { text, terms } = await whole(bare);
    assert.deepEqual([text, terms, asked.length], ['TRANSLATE "ONE" INTO GERMAN.', undefined, 1]);
  });

  it('of a text without words asks nobody', async () => {
    const { whole, asked } = createTranslator(upper);
    assert.equal((await whole(wishFor(' 12:30 \n{name}\n'))).text, ' 12:30 \n{name}\n');
    assert.equal(asked.length, 0);
  });

  it('takes a whole text or line that is in the memory, though it is no single sentence', async () => {
    const { whole, asked } = createTranslator(upper);
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
      assert.equal((await whole(wishFor(text, { memory }))).text, translation);
    assert.equal(asked.length, 0);
    assert.equal(
      (await whole(wishFor('Four. Dr. Smith arrived. Five.', { memory }))).text,
      'FOUR. Dr. Smith kam an. FIVE.',
    );
  });

  it('puts no blank into a word or number that was too long for one run', async () => {
    const { whole, asked } = createTranslator(({ text }) => text.toUpperCase());
    const long = `${'a '.repeat(500)}${'abc128,236'.repeat(60)}`;
    assert.equal((await whole(wishFor(long))).text, long.toUpperCase());
    assert.ok(asked.some(({ text }) => /^[abc\d,]{40,599}$/.test(text)));
  });

  it('keeps a sentence that no answer translates, and says so in the log', async () => {
    const facts: Record<string, unknown> = {};
    const { translate, asked } = createTranslator(({ text }) => (text === 'One.' ? '' : 'Zwei.'));
    const log = { add: (more: object) => void Object.assign(facts, more), warn: () => undefined };
    const { batches } = await translate(wishFor('One.\nTwo.'), { interface: 'chat' }, { ...CONTEXT, log });
    const said = (await Array.fromAsync(batches)).flat();
    assert.equal(said.map((event) => (event.type === 'block-delta' ? event.text : '')).join(''), 'One.\nZwei.');
    assert.equal(facts['untranslatedSegments'], 1);
    assert.ok(asked.some(({ instruction }) => /do not leave it out/.test(instruction)));
  });

  it('reads on where a line only announces the translation, and takes a colon that stays', async () => {
    const { whole, asked } = createTranslator(({ text, request }) => {
      if (text.startsWith('Colon')) return 'Doppelpunkt:';
      return request.stop.strings.length > 0 ? 'Hier ist es:' : 'Hier ist es:\n\nEins.\nNote';
    });
    assert.equal((await whole(wishFor('One.'))).text, 'Eins.');
    assert.equal(asked.length, 2);
    assert.equal((await whole(wishFor('Colon'))).text, 'Doppelpunkt:');
    assert.equal(asked.length, 3);
    assert.equal((await whole(wishFor('Colon.'))).text, 'Doppelpunkt:');
  });

  it('asks again where the answer is the text itself, unless the languages are the same', async () => {
    const echo = ({ instruction, text }: { readonly instruction: string; readonly text: string }): string =>
      instruction.includes('Do not repeat') ? 'Der Park.' : text;
    const { whole, asked } = createTranslator(echo);
    assert.equal((await whole(wishFor('The park.'))).text, 'Der Park.');
    assert.equal((await whole(wishFor('The park.', { source: language('German') }))).text, 'The park.');
    assert.equal(asked.length, 3);
    const stubborn = createTranslator(({ text }) => text);
    assert.equal((await stubborn.whole(wishFor('Google'))).text, 'Google');
  });

  it('refuses an empty text and one that is too long, with both counts; what goes with it counts', async () => {
    const { whole } = createTranslator(upper);
    await assert.rejects(whole(wishFor('')), {
      kind: 'invalid-request',
      message: 'Range of input length should be [1, 8192] (messages: 0 tokens)',
    });
    const long = 'a '.repeat(8_192);
    assert.equal((await whole(wishFor(long))).text, long.toUpperCase());
    await assert.rejects(whole(wishFor(long, { domains: 'b' })), {
      message: /should be \[1, 8192\] \(messages: 8193 tokens\)/,
    });
    for (const pairs of ['memory', 'terms'])
      await assert.rejects(whole(wishFor(long, { [pairs]: [{ source: 'b', target: 'c' }] })), {
        message: /\(messages: \d+ tokens\)/,
      });
  });
});

describe('protected parts of a translation', () => {
  it('come back where the model keeps their marks', async () => {
    const { whole, asked } = createTranslator(({ text }) => text.split(' ').toReversed().join(' '));
    assert.equal((await whole(wishFor('Dear {name} and <b>you</b> of %s'))).text, '%s of <b>you</b> and {name} Dear');
    assert.equal(asked[0]?.text, 'Dear [1] and [2]you[3] of [4]');
    assert.match(asked[0]?.instruction ?? '', /Keep marks such as \[1\]/);
  });

  it('are kept where it drops them, by translating what is between', async () => {
    const { whole, asked } = createTranslator(({ text }) => text.replaceAll(/\[\d+\]/g, '').toUpperCase());
    assert.equal((await whole(wishFor('Dear {name}, come to `x.y` now.'))).text, 'DEAR {name}, COME TO `x.y` NOW.');
    assert.deepEqual(
      asked.map((run) => run.text),
      ['Dear [1], come to [2] now.', 'Dear', ', come to', 'now.'],
    );
  });

  it('survive any model, whatever the text', async () => {
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
    const kept = (text: string): string[] =>
      protectedSpans(text)
        .map(({ start, end }) => text.slice(start, end))
        .toSorted();
    await fc.assert(
      fc.asyncProperty(
        mixedText.filter((text) => text !== ''),
        fc.constantFrom(...answers),
        async (source, answer) => {
          const { text } = await createTranslator((asked) => answer(asked.text)).whole(wishFor(source));
          for (const part of new Set(kept(source))) {
            const count = (whole: string): number => whole.split(part).length - 1;
            assert.ok(count(text) >= kept(source).filter((each) => each === part).length, `${part} in ${text}`);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('terms of a translation', () => {
  it('are said to the model only where they are in the text, and counted', async () => {
    const { whole, asked } = createTranslator(({ text }) => text.replace('park', 'Stadtgarten'));
    const terms = [...park, { source: 'lake', target: 'Weiher' }];
    const { text, terms: told } = await whole(wishFor('The park is big.', { terms }));
    assert.deepEqual([text, told], ['The Stadtgarten is big.', '1/1']);
    assert.equal(asked.length, 1);
    assert.match(asked[0]?.instruction ?? '', /"park" as "Stadtgarten"/);
    assert.doesNotMatch(asked[0]?.instruction ?? '', /lake/);
    assert.equal((await whole(wishFor('The sea.', { terms }))).terms, '0/0');
  });

  it('that are missing are marked in the text, and said once', async () => {
    const { whole, asked } = createTranslator(({ text }) =>
      text.includes('(') ? 'Der Park (Stadtgarten) ist groß.' : 'Der Park.',
    );
    const { text, terms } = await whole(wishFor('The park is big.', { terms: park }));
    assert.deepEqual([text, terms], ['Der Stadtgarten ist groß.', '1/1']);
    assert.deepEqual(
      asked.map((run) => run.text),
      ['The park is big.', 'The park (Stadtgarten) is big.'],
    );
  });

  it('that are still missing stand in the text instead', async () => {
    const { whole, asked } = createTranslator(({ text }) => (text.includes('park') ? 'Der Park.' : 'Der Stadtgarten.'));
    const { text, terms } = await whole(wishFor('The park is big.', { terms: park }));
    assert.deepEqual([text, terms], ['Der Stadtgarten.', '1/1']);
    assert.match(asked[2]?.instruction ?? '', /Keep "Stadtgarten" as it is\./);
    assert.doesNotMatch(asked[2]?.instruction ?? '', /"park"/);
  });

  it('that the model translates even then are marks to it, as protected parts are', async () => {
    const { whole, asked } = createTranslator(({ text }) =>
      text.includes('[2]') ? 'Der [2] von [1].' : 'Der Park von [1].',
    );
    const { text, terms } = await whole(wishFor('The park of {name}.', { terms: park }));
    assert.deepEqual([text, terms], ['Der Stadtgarten von {name}.', '1/1']);
    assert.equal(asked[3]?.text, 'The [2] of [1].');
    assert.match(asked[3]?.instruction ?? '', /Keep marks/);
  });

  it('that no attempt brings are reported, also when only one of their places lacks them', async () => {
    const { whole } = createTranslator(() => 'Der Park.');
    const { text, terms } = await whole(wishFor('The park is big.', { terms: park }));
    assert.deepEqual([text, terms], ['Der Park.', '0/1']);
    const other = createTranslator(({ text: asked }) => (asked.startsWith('A') ? 'Stadtgarten' : 'Park'));
    assert.equal((await other.whole(wishFor('A park.\nThe park.', { terms: park }))).terms, '0/1');
  });

  it('take the attempt that brings most', async () => {
    const answers = ['Stadtgarten', 'Stadtgarten am Weiher', 'Teich'];
    const { whole } = createTranslator(() => answers.shift() ?? '');
    const terms = [...park, { source: 'lake', target: 'Weiher' }, { source: 'big', target: 'riesig' }];
    const { text, terms: told } = await whole(wishFor('The big park at the lake.', { terms }));
    assert.deepEqual([text, told], ['Stadtgarten am Weiher', '2/3']);
  });

  it('are counted by their places: one of two is none', async () => {
    const { whole } = createTranslator(() => 'Der Stadtgarten liegt beim anderen Park.');
    assert.equal((await whole(wishFor('The park is near the other park.', { terms: park }))).terms, '0/1');
    const answers = ['Der Park beim Park.', 'Der Stadtgarten beim Park.', 'Der Park beim Park.'];
    const better = createTranslator(() => answers.shift() ?? 'Der Park.');
    const { text } = await better.whole(wishFor('The park is near the other park.', { terms: park }));
    assert.equal(text, 'Der Stadtgarten beim Park.');
  });

  it('are not found in a word that is another one in another case', async () => {
    const { whole } = createTranslator(() => 'Let us go there.');
    const { text, terms } = await whole(wishFor('Die USA.', { terms: [{ source: 'USA', target: 'US' }] }));
    assert.deepEqual([text, terms], ['Let us go there.', '0/1']);
  });

  it('inside protected parts are none', async () => {
    const { whole } = createTranslator(({ text }) => text);
    assert.equal((await whole(wishFor('See https://a.example/park now.', { terms: park }))).terms, '0/0');
  });
});

describe('a translation that is given up', () => {
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
    const house = createHouse(engine);
    const translate = createTranslate({ ...house.parts, detectLanguage: async () => undefined });
    const wish = wishFor(text, {}, { model: 'm' });
    return { house, ended, translation: await translate(wish, { interface: 'chat' }, house.context) };
  };

  it('ends the run that is on, and gives everything back', async () => {
    const { house, ended, translation } = await start('One hang.');
    const reader = translation.batches[Symbol.asyncIterator]();
    const next = reader.next();
    await reader.return?.();
    await assert.rejects(next, { kind: 'cancelled' });
    assert.deepEqual(ended, [true]);
    assert.deepEqual([house.books.permits, house.books.releases], [1, 1]);
  });

  it('has what all its runs took in the log line, that which was broken off too', async () => {
    const { house, translation } = await start('One.\nTwo hang.');
    const reader = translation.batches[Symbol.asyncIterator]();
    await reader.next();
    const next = reader.next();
    await reader.return?.();
    await assert.rejects(next, { kind: 'cancelled' });
    const sum = house.books.settled.reduce((total, { usage }) => total + usage.promptTokens, 0);
    assert.equal(house.books.settled.length, 2);
    assert.equal(house.books.facts['promptTokens'], sum);
  });

  it('before it is read does the same', async () => {
    const { house, translation } = await start('One hang.');
    await translation.batches[Symbol.asyncIterator]().return?.();
    assert.deepEqual([house.books.permits, house.books.releases], [1, 1]);
  });

  it('by its caller between two segments gives everything back', async () => {
    const { house, translation } = await start('One.\nTwo hang.');
    const reader = translation.batches[Symbol.asyncIterator]();
    assert.ok(!(await reader.next()).done);
    house.caller.abort(new Error('gone'));
    await assert.rejects(reader.next());
    assert.equal(house.books.releases, house.books.permits);
  });

  it('for a failure of its first run is refused before anything is told', async () => {
    const engine = createScriptedEngine({ script: () => [{ type: 'fail', kind: 'overloaded' }], contextTokens: 1_000 });
    const house = createHouse(engine);
    const translate = createTranslate({ ...house.parts, detectLanguage: async () => undefined });
    await assert.rejects(translate(wishFor('One.', {}, { model: 'm' }), { interface: 'chat' }, house.context), {
      kind: 'overloaded',
    });
    assert.deepEqual([house.books.permits, house.books.releases], [1, 1]);
  });
});
