import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { GenerationEvent, TokenLogprob } from '../../core/event.ts';
import type { Citation, CitationForm, Source } from '../../core/server-tools.ts';
import { createWithCitations } from './with-citations.ts';

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

const logprobOf = (token: string): TokenLogprob => ({ token, bytes: [], logprob: -1, top: [] });

interface Said {
  readonly text: string;
  readonly tokens: number;
  readonly logprobs: readonly string[];
  readonly citations: readonly Citation[];
}

function said(pieces: readonly string[], form?: CitationForm, sources = SOURCES): Said {
  const stage = createWithCitations(sources, form);
  const events: GenerationEvent[] = [
    { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } },
    ...pieces.map((text): GenerationEvent => ({
      type: 'block-delta',
      choice: 0,
      index: 0,
      text,
      tokens: 1,
      logprobs: [logprobOf(text)],
    })),
    { type: 'block-end', choice: 0, index: 0 },
  ];
  const told = events.flatMap((event) => stage.push(event));
  assert.deepEqual(told[0], events[0]);
  assert.deepEqual(told.at(-1), events.at(-1));
  const deltas = told.flatMap((event) => (event.type === 'block-delta' ? [event] : []));
  assert.equal(deltas.length, told.length - 2);
  return {
    text: deltas.map(({ text }) => text).join(''),
    tokens: deltas.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
    logprobs: deltas.flatMap(({ logprobs = [] }) => logprobs.map(({ token }) => token)),
    citations: deltas.flatMap(({ citations = [] }) => citations),
  };
}

/** What each further piece makes it say at once. */
function pushing(form: CitationForm | undefined): (text: string) => string {
  const stage = createWithCitations(SOURCES, form);
  stage.push({ type: 'block-start', choice: 0, index: 0, block: { type: 'text' } });
  return (text) =>
    stage
      .push({ type: 'block-delta', choice: 0, index: 0, text })
      .map((event) => (event.type === 'block-delta' ? event.text : ''))
      .join('');
}

const OPENED = 'The museum opened in December 1986';

describe('marks in an answer', () => {
  it('hold for items of a list: the number of an item is not the sentence’s', () => {
    for (const item of ['7. ', ' 12) ', '- ', '* ']) {
      assert.equal(said([`${item}${OPENED} [1].\n`], 'number').text, `${item}${OPENED} [1].\n`);
      assert.deepEqual(
        said([`${item}${OPENED} [1].\n`], 'attached').citations.map(({ source: { index } }) => index),
        [1],
      );
    }
  });

  it('are code between tildes as between backticks, and neither closes the other', () => {
    const text = '~~~py\n```\nx[1]\n```\n~~\ny[2]\n~~~\n';
    for (const form of [undefined, 'number', 'attached'] as const)
      for (const pieces of [[text], Array.from(text)]) assert.equal(said(pieces, form).text, text);
    assert.equal(said([`${text}Nothing of it [1].`], 'number').text, `${text}Nothing of it.`);
  });

  it('are none where no source could be meant: intervals, first elements, years', () => {
    const text = 'Both x[0] and a value of [0, 1] or [01] are its own, as [2024], [3-1] and [10-90] are, and [4:0].';
    for (const form of [undefined, 'number', 'attached'] as const) assert.equal(said([text], form).text, text);
  });

  for (const [why, text, expected] of [
    ['stay where the source says so', `${OPENED} [1].`, `${OPENED} [1].`],
    ['get the wished form', `${OPENED}【1】.`, `${OPENED}[1].`],
    ['get the wished form from others', `${OPENED} [ref_1].`, `${OPENED} [1].`],
    [
      'go where they point at nothing',
      `Elephants live long [7]. ${OPENED} [1].`,
      `Elephants live long. ${OPENED} [1].`,
    ],
    [
      'go where the source does not bear the sentence out',
      'The museum opened in March 1990 [1].',
      'The museum opened in March 1990.',
    ],
    ['keep of several sources those that hold', `${OPENED} [1, 2].`, `${OPENED} [1].`],
    ['may be a row, of which those stay that hold', `${OPENED} [1-3].`, `${OPENED} [1].`],
    ['may be rows and numbers', `${OPENED} [2–3, 1].`, `${OPENED} [1].`],
    ['may say where in the source', `${OPENED} 【1†source】.`, `${OPENED} [1].`],
    ['may say lines, too', `${OPENED} [1†L10-L12][9†L1].`, `${OPENED} [1].`],
    ['may say what they are', `${OPENED} [2, citation:1].`, `${OPENED} [1].`],
    ['go where they count otherwise', `${OPENED} [1]【4:0†source】.`, `${OPENED} [1].`],
    ['keep of several marks those that hold', `${OPENED} [2][1].`, `${OPENED} [1].`.replace(' [1]', '[1]')],
    [
      'may stand behind the sentence',
      `${OPENED}. [1] Children pay nothing.[2]`,
      `${OPENED}. [1] Children pay nothing.[2]`,
    ],
    [
      'are left in code',
      'Use `a[7]` here.\n```\nx = a[9]\n```\nDone [9].',
      'Use `a[7]` here.\n```\nx = a[9]\n```\nDone.',
    ],
    ['are no links', 'See [7](https://example.com/7).', 'See [7](https://example.com/7).'],
    ['may stand alone', '[7]', ''],
  ] as const)
    it(why, () => assert.equal(said([text], 'number').text, expected));

  it('are written where the model wrote none and a source says the same', () => {
    assert.equal(
      said([`${OPENED}. Hello there, how are you today?`], 'number').text,
      `${OPENED}[1]. Hello there, how are you today?`,
    );
    assert.equal(
      said(['A ticket to the museum costs 16 euros.'], 'ref-number').text,
      'A ticket to the museum costs 16 euros[ref_2].',
    );
    assert.equal(
      said(['A ticket to the museum costs 17 euros.'], 'number').text,
      'A ticket to the museum costs 17 euros.',
    );
  });

  it('are written too where the source says in its title what its sentence is about', () => {
    assert.equal(
      said(['The Orsay Museum stands in a former railway station.'], 'number').text,
      'The Orsay Museum stands in a former railway station[1].',
    );
  });

  it('are citations beside the text where these are wished', () => {
    const { text, citations } = said([`Hi! ${OPENED} [1]. Elephants live long [2].`], 'attached');
    assert.equal(text, `Hi! ${OPENED}. Elephants live long.`);
    assert.deepEqual(
      citations.map(({ source: { index }, cited, start, end }) => [index, cited, text.slice(start, end)]),
      [[1, 'The museum opened in December 1986.', `${OPENED}.`]],
    );
  });

  it('count places of citations in code points', () => {
    const { text, citations } = said([`👍🏽 Yes!\n${OPENED}.`], 'attached');
    const [{ start, end } = { start: 0, end: 0 }] = citations;
    assert.equal([...text].slice(start, end).join(''), `${OPENED}.`);
  });

  it('are only removed, and only those that point at nothing, where no citations are wished', () => {
    assert.equal(
      said(['The museum opened in March [1], or April [8]. a[1, 9]'], undefined).text,
      'The museum opened in March [1], or April. a[1]',
    );
    assert.equal(
      said(['Both [1-2] and [2-4] say so【1†L3】【4:0†source】.'], undefined).text,
      'Both [1-2] and [2] say so【1†L3】.',
    );
    assert.equal(said(['Nothing [1] was found.'], undefined, []).text, 'Nothing was found.');
  });

  it('take their log probabilities with them, and their tokens stay counted', () => {
    const { tokens, logprobs } = said(['Elephants live long', ' [', '7', ']', '.'], 'number');
    assert.equal(tokens, 5);
    assert.deepEqual(logprobs, ['Elephants live long', '.']);
  });

  it('hold back no more than the sentence that is being written', () => {
    const push = pushing('number');
    assert.equal(push('Hello there. The mus'), 'Hello there.');
    assert.equal(push('eum opened in December 1986 [1]'), '');
    assert.equal(push('. Then'), ' The museum opened in December 1986 [1].');
  });

  it('hold nothing but a mark back where no citations are wished', () => {
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
  const places = [...new Set(cuts.map((at) => at % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((from, i) => text.slice(from, places[i] ?? text.length)).filter((piece) => piece !== '');
};

describe('what is said with citations', () => {
  for (const form of [undefined, 'number', 'ref-number', 'attached'] as const)
    it(`is the same however the text is cut (${form ?? 'none'})`, () => {
      fc.assert(
        fc.property(fc.array(part, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 30 }), (parts, cuts) => {
          const text = parts.join('');
          const whole = said([text], form);
          const pieces = cut(text, cuts);
          const inPieces = said(pieces, form);
          assert.equal(inPieces.text, whole.text);
          assert.deepEqual(inPieces.citations, whole.citations);
          if (inPieces.text !== '') assert.ok(inPieces.tokens <= pieces.length);
        }),
        { numRuns: 300 },
      );
    });
});
