import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import type { GenerationEvent, TokenLogprob } from '../../core/event.ts';
import type { Citation, CitationStyle, Source } from '../../core/server-tools.ts';
import { createCitationFilter } from './citation-filter.ts';

const source = (index: number, title: string, passage: string): Source => ({
  index,
  title,
  url: `https://example.com/${index}`,
  siteName: '',
  icon: '',
  passage,
});

const SOURCES: readonly Source[] = [
  source(1, 'Orsay Museum', 'The museum opened in December 1986. It stands in a former railway station.'),
  source(2, 'Tickets', 'A ticket to the museum costs 16 euros for adults. Children pay nothing.'),
];

const getLogprob = (token: string): TokenLogprob => ({ token, bytes: [], logprob: -1, top: [] });

interface FilteredAnswer {
  readonly text: string;
  readonly tokens: number;
  readonly logprobs: readonly string[];
  readonly citations: readonly Citation[];
}

function filterAnswer(pieces: readonly string[], form?: CitationStyle, sources = SOURCES): FilteredAnswer {
  const stage = createCitationFilter(sources, form);
  const events: GenerationEvent[] = [
    { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } },
    ...pieces.map((text): GenerationEvent => ({
      type: 'block-delta',
      choice: 0,
      index: 0,
      text,
      tokens: 1,
      logprobs: [getLogprob(text)],
    })),
    { type: 'block-end', choice: 0, index: 0 },
  ];
  const outputEvents = events.flatMap((event) => stage.push(event));
  assert.deepEqual(outputEvents[0], events[0]);
  assert.deepEqual(outputEvents.at(-1), events.at(-1));
  const deltas = outputEvents.flatMap((event) => (event.type === 'block-delta' ? [event] : []));
  assert.equal(deltas.length, outputEvents.length - 2);
  return {
    text: deltas.map(({ text }) => text).join(''),
    tokens: deltas.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
    logprobs: deltas.flatMap(({ logprobs = [] }) => logprobs.map(({ token }) => token)),
    citations: deltas.flatMap(({ citations = [] }) => citations),
  };
}

/** Returns the output after each further piece. */
function pushing(form: CitationStyle | undefined): (text: string) => string {
  const stage = createCitationFilter(SOURCES, form);
  stage.push({ type: 'block-start', choice: 0, index: 0, block: { type: 'text' } });
  return (text) =>
    stage
      .push({ type: 'block-delta', choice: 0, index: 0, text })
      .map((event) => (event.type === 'block-delta' ? event.text : ''))
      .join('');
}

const OPENED = 'The museum opened in December 1986';

describe('createCitationFilter', () => {
  it('ignores the number of a list item when it checks a sentence', () => {
    for (const item of ['7. ', ' 12) ', '- ', '* ']) {
      assert.equal(filterAnswer([`${item}${OPENED} [1].\n`], 'number').text, `${item}${OPENED} [1].\n`);
      assert.deepEqual(
        filterAnswer([`${item}${OPENED} [1].\n`], 'attached').citations.map(({ source: { index } }) => index),
        [1],
      );
    }
  });

  it('treats tildes and backticks as separate code fences', () => {
    const text = '~~~py\n```\nx[1]\n```\n~~\ny[2]\n~~~\n';
    for (const form of [undefined, 'number', 'attached'] as const)
      for (const pieces of [[text], Array.from(text)]) assert.equal(filterAnswer(pieces, form).text, text);
    assert.equal(filterAnswer([`${text}Nothing of it [1].`], 'number').text, `${text}Nothing of it.`);
  });

  it('takes linear time for a long row of backticks', () => {
    const before = process.cpuUsage();
    const text = `${'`'.repeat(100_000)}x`;
    for (let run = 0; run < 10; run++) assert.equal(filterAnswer([text]).text, text);
    assert.ok(process.cpuUsage(before).user < 10_000_000);
  });

  it('leaves brackets that cannot be citations: intervals, first elements, years', () => {
    const text = 'Both x[0] and a value of [0, 1] or [01] are its own, as [2024], [3-1] and [10-90] are, and [4:0].';
    for (const form of [undefined, 'number', 'attached'] as const) assert.equal(filterAnswer([text], form).text, text);
  });

  for (const [why, text, expected] of [
    ['keeps a mark that the source supports', `${OPENED} [1].`, `${OPENED} [1].`],
    ['writes marks in the requested form', `${OPENED}【1】.`, `${OPENED}[1].`],
    ['rewrites marks of another form', `${OPENED} [ref_1].`, `${OPENED} [1].`],
    [
      'removes marks without a source',
      `Elephants live long [7]. ${OPENED} [1].`,
      `Elephants live long. ${OPENED} [1].`,
    ],
    [
      'removes a mark when the source does not support the sentence',
      'The museum opened in March 1990 [1].',
      'The museum opened in March 1990.',
    ],
    [
      'removes a mark when the source says the opposite',
      'The museum closed in December 1986 [1].',
      'The museum closed in December 1986.',
    ],
    [
      'removes a mark when the sentence negates its source',
      'The museum does not stand in a former railway station [1].',
      'The museum does not stand in a former railway station.',
    ],
    ['keeps the supporting sources of a mark with several', `${OPENED} [1, 2].`, `${OPENED} [1].`],
    ['keeps the supporting sources of a range', `${OPENED} [1-3].`, `${OPENED} [1].`],
    ['reads ranges and numbers in one mark', `${OPENED} [2–3, 1].`, `${OPENED} [1].`],
    ['reads a mark with a location', `${OPENED} 【1†source】.`, `${OPENED} [1].`],
    ['reads marks with line numbers', `${OPENED} [1†L10-L12][9†L1].`, `${OPENED} [1].`],
    ['reads a mark with a label', `${OPENED} [2, citation:1].`, `${OPENED} [1].`],
    ['removes marks with another numbering', `${OPENED} [1]【4:0†source】.`, `${OPENED} [1].`],
    ['keeps the supporting marks of several', `${OPENED} [2][1].`, `${OPENED} [1].`.replace(' [1]', '[1]')],
    [
      'reads marks after the sentence',
      `${OPENED}. [1] Children pay nothing.[2]`,
      `${OPENED}. [1] Children pay nothing.[2]`,
    ],
    [
      'leaves brackets in code',
      'Use `a[7]` here.\n```\nx = a[9]\n```\nDone [9].',
      'Use `a[7]` here.\n```\nx = a[9]\n```\nDone.',
    ],
    ['leaves links', 'See [7](https://example.com/7).', 'See [7](https://example.com/7).'],
    ['removes a mark that stands alone', '[7]', ''],
  ] as const)
    it(why, () => assert.equal(filterAnswer([text], 'number').text, expected));

  it('adds a mark when the model wrote none and a source says the same', () => {
    assert.equal(
      filterAnswer([`${OPENED}. Hello there, how are you today?`], 'number').text,
      `${OPENED}[1]. Hello there, how are you today?`,
    );
    assert.equal(
      filterAnswer(['A ticket to the museum costs 16 euros.'], 'ref-number').text,
      'A ticket to the museum costs 16 euros[ref_2].',
    );
    assert.equal(
      filterAnswer(['A ticket to the museum costs 17 euros.'], 'number').text,
      'A ticket to the museum costs 17 euros.',
    );
  });

  it("counts words of a source's title when it adds a mark", () => {
    assert.equal(
      filterAnswer(['The Orsay Museum stands in a former railway station.'], 'number').text,
      'The Orsay Museum stands in a former railway station[1].',
    );
  });

  it('emits citations beside the text when the form is attached', () => {
    const { text, citations } = filterAnswer([`Hi! ${OPENED} [1]. Elephants live long [2].`], 'attached');
    assert.equal(text, `Hi! ${OPENED}. Elephants live long.`);
    assert.deepEqual(
      citations.map(({ source: { index }, citedText, start, end }) => [index, citedText, text.slice(start, end)]),
      [[1, 'The museum opened in December 1986.', `${OPENED}.`]],
    );
  });

  it('counts citation positions in code points', () => {
    const { text, citations } = filterAnswer([`👍🏽 Yes!\n${OPENED}.`], 'attached');
    const [{ start, end } = { start: 0, end: 0 }] = citations;
    assert.equal([...text].slice(start, end).join(''), `${OPENED}.`);
  });

  it('removes only marks without a source when no citations are requested', () => {
    assert.equal(
      filterAnswer(['The museum opened in March [1], or April [8]. a[1, 9]'], undefined).text,
      'The museum opened in March [1], or April. a[1]',
    );
    assert.equal(
      filterAnswer(['Both [1-2] and [2-4] say so【1†L3】【4:0†source】.'], undefined).text,
      'Both [1-2] and [2] say so【1†L3】.',
    );
    assert.equal(filterAnswer(['Nothing [1] was found.'], undefined, []).text, 'Nothing was found.');
  });

  it('keeps log probabilities with their text and counts every token', () => {
    const { tokens, logprobs } = filterAnswer(['Elephants live long', ' [', '7', ']', '.'], 'number');
    assert.equal(tokens, 5);
    assert.deepEqual(logprobs, ['Elephants live long', '.']);
  });

  it('holds back at most the current sentence', () => {
    const push = pushing('number');
    assert.equal(push('Hello there. The mus'), 'Hello there.');
    assert.equal(push('eum opened in December 1986 [1]'), '');
    assert.equal(push('. Then'), ' The museum opened in December 1986 [1].');
  });

  it('holds back only a possible mark when no citations are requested', () => {
    const push = pushing(undefined);
    assert.equal(push('The mus'), 'The mus');
    assert.equal(push('eum [1'), 'eum');
    assert.equal(push('2] op'), ' op');
  });
});

const part = fc.oneof(
  fc.constantFrom(
    `${OPENED} [1].`,
    `${OPENED}.`,
    'Children pay nothing [2]!',
    ' ',
    '\n',
    '[',
    ']',
    '[1',
    '【2】',
    '[ref_9]',
    '. ',
    '…',
    '。',
    '`',
    '```',
    '\n```\n',
    '(',
    'Dr. Who',
    '3.5',
    '👍🏽',
    '   ',
    '[1, 2]',
    '[1-3]',
    '[3-1]',
    '【1†',
    '【4:0†source】',
    'x'.repeat(110),
    'a[7]',
    '"',
    '**',
    '\r\n',
    ' '.repeat(45),
    'x'.repeat(700),
    '[7](https://e.org)',
    '北京。',
  ),
  fc.string({ maxLength: 5 }),
);

const cut = (text: string, cuts: readonly number[]): string[] => {
  const cutPositions = [...new Set(cuts.map((at) => at % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...cutPositions]
    .map((from, i) => text.slice(from, cutPositions[i] ?? text.length))
    .filter((piece) => piece !== '');
};

describe('createCitationFilter with split text', () => {
  for (const form of [undefined, 'number', 'ref-number', 'attached'] as const)
    it(`produces the same output however the text is split (${form ?? 'none'})`, () => {
      fc.assert(
        fc.property(fc.array(part, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 30 }), (parts, cuts) => {
          const text = parts.join('');
          const whole = filterAnswer([text], form);
          const pieces = cut(text, cuts);
          const inPieces = filterAnswer(pieces, form);
          assert.equal(inPieces.text, whole.text);
          assert.deepEqual(inPieces.citations, whole.citations);
          if (inPieces.text !== '') assert.ok(inPieces.tokens <= pieces.length);
        }),
        { numRuns: scalePropertyRuns(300) },
      );
    });
});
