import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TRIGGER_WINDOW_CHARS } from '../core/limits.ts';
import type { Phase } from '../core/prompt.ts';
import { createStopMatcher } from '../lib/stop-matcher.ts';
import { createChoiceOutput } from './choice-output.ts';
import type { OutputCall, Said, SampledToken, Verdict } from './choice-output.ts';
import { createTriggers } from './triggers.ts';

interface Likelihood {
  readonly id: number;
  readonly bytes: readonly number[];
}
type Token = SampledToken<Likelihood>;

const NO_STOPS: OutputCall = { stop: { strings: [], tokens: [] }, phases: [] };
const END: Token = { id: -1, bytes: new Uint8Array(), isEnd: true };

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const tokenOf = (bytes: Uint8Array, id: number): Token => ({
  id,
  bytes,
  isEnd: false,
  logprobs: { id, bytes: [...bytes] },
});

const tokensOf = (...texts: string[]): Token[] => texts.map((text, id) => tokenOf(encode(text), id));

/** Pushes tokens until there is a verdict other than `more`. */
function play(tokens: readonly Token[], call: Partial<OutputCall> = {}) {
  const lines: Said<Likelihood>[] = [];
  const output = createChoiceOutput<Likelihood>(
    { ...NO_STOPS, ...call },
    { triggers: createTriggers(call.phases ?? []), say: (said) => lines.push(said) },
  );
  let verdict: Verdict = { type: 'more' };
  for (const token of tokens) {
    verdict = output.push(token);
    if (verdict.type !== 'more') break;
  }
  return { output, verdict, lines, text: lines.map((line) => line.text).join('') };
}

const cut = (bytes: Uint8Array, sizes: readonly number[]): Token[] => {
  const tokens: Token[] = [];
  for (let from = 0, id = 0; from < bytes.length; id++) {
    const size = sizes[id % Math.max(1, sizes.length)] ?? 1;
    tokens.push(tokenOf(bytes.subarray(from, from + size), id));
    from += size;
  }
  return tokens;
};

const anyText = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '漢', '😀'), maxLength: 30 });
const anySizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 });
const anyStops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'é', '漢'), minLength: 1, maxLength: 3 }), {
  maxLength: 3,
});

describe('an answer', () => {
  it('has the same text and the same end however its bytes are cut into tokens', () => {
    fc.assert(
      fc.property(anyText, anyStops, anySizes, (text, strings, sizes) => {
        const call = { stop: { strings, tokens: [] } };
        const whole = play([...tokensOf(text), END], call);
        const pieces = play([...cut(encode(text), sizes), END], call);
        assert.equal(pieces.text, whole.text);
        assert.deepEqual(pieces.verdict, whole.verdict);
        const matcher = createStopMatcher(strings);
        const { text: before, match } = matcher.push(text);
        assert.equal(whole.text, match === undefined ? before + matcher.end() : before);
      }),
    );
  });

  it('has log probabilities that keep step with its text', () => {
    fc.assert(
      fc.property(anyText, anyStops, anySizes, (text, strings, sizes) => {
        const tokens = cut(encode(text), sizes);
        const { lines, text: said, verdict } = play([...tokens, END], { stop: { strings, tokens: [] } });
        const isStopped = verdict.type === 'finished' && verdict.stop !== undefined;
        const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
        let released = '';
        let out = '';
        let count = 0;
        for (const [at, line] of lines.entries()) {
          out += line.text;
          for (const { id, bytes } of line.logprobs ?? []) {
            assert.equal(id, count++, 'in order, each once');
            released += decoder.decode(Uint8Array.from(bytes), { stream: true });
          }
          // Of a token that began before the stop string, a part of the text is in the answer.
          const isLast = isStopped && at === lines.length - 1;
          assert.ok(isLast ? released.startsWith(out) || out.startsWith(released) : out.startsWith(released));
        }
        if (!isStopped) assert.equal(count, tokens.length);
        assert.ok(isStopped || released === said);
      }),
    );
  });

  it('says nothing of a stop string, also when it begins in the middle of a token', () => {
    const { text, verdict, lines } = play(tokensOf('one E', 'N', 'D two'), { stop: { strings: ['END'], tokens: [] } });
    assert.equal(text, 'one ');
    assert.deepEqual(verdict, { type: 'finished', reason: 'stop', stop: 'END' });
    assert.deepEqual(
      lines.flatMap((line) => line.logprobs?.map(({ id }) => id) ?? []),
      [0],
    );
  });

  it('says what was held back when it did not become a stop string', () => {
    assert.equal(play([...tokensOf('a', 'E', 'N'), END], { stop: { strings: ['END'], tokens: [] } }).text, 'aEN');
  });

  it('counts every sampled token once in its lines, but for those that never showed', () => {
    fc.assert(
      fc.property(anyText, anySizes, (text, sizes) => {
        const tokens = cut(encode(text), sizes);
        const { lines, output } = play([...tokens, END]);
        assert.equal(
          lines.reduce((sum, line) => sum + line.tokens, 0),
          tokens.length,
        );
        assert.equal(output.tokens, tokens.length);
      }),
    );
  });
});

describe('stop ids', () => {
  it('end the answer before them, and a stop string in what they held back ends it earlier', () => {
    const ids = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 12 });
    const stops = fc.array(fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 3 }), { maxLength: 3 });
    const TEXTS = ['a', 'b', 'ab'];
    fc.assert(
      fc.property(ids, stops, anyStops, (run, tokens, strings) => {
        const sampled = run.map((id) => tokenOf(encode(TEXTS[id] ?? ''), id));
        const { text, verdict } = play([...sampled, END], { stop: { strings, tokens } });

        let kept = run;
        for (let end = 1; end <= run.length && kept === run; end++) {
          const hit = tokens.find(
            (stop) => stop.length <= end && stop.every((id, i) => run[end - stop.length + i] === id),
          );
          if (hit) kept = run.slice(0, end - hit.length);
        }
        const matcher = createStopMatcher(strings);
        const { text: before, match } = matcher.push(kept.map((id) => TEXTS[id]).join(''));
        assert.equal(text, match === undefined ? before + matcher.end() : before);
        assert.deepEqual(verdict, {
          type: 'finished',
          reason: 'stop',
          // An empty one says that the answer was cut by ids.
          ...(match === undefined ? (kept === run ? {} : { stop: '' }) : { stop: match }),
        });
      }),
    );
  });

  it('hold a token back only while it may be the beginning of one', () => {
    const { lines } = play(tokensOf('a', 'b', 'c'), { stop: { strings: [], tokens: [[0, 1, 9]] } });
    assert.deepEqual(
      lines.map((line) => line.text),
      ['a', 'b', 'c'],
    );
  });

  it('that are held back at a limit do not carry text past a stop string', () => {
    const { text, verdict } = play(tokensOf('x', 'y', 'z'), {
      stop: { strings: ['x'], tokens: [[0, 1, 2, 3]] },
      maxTokens: 2,
    });
    assert.equal(text, '');
    assert.deepEqual(verdict, { type: 'finished', reason: 'stop', stop: 'x' });
  });
});

describe('limits', () => {
  it('cut after so many tokens, leave out half a character, and give way to a stop string', () => {
    fc.assert(
      fc.property(anyText, anyStops, anySizes, fc.integer({ min: 1, max: 10 }), (text, strings, sizes, maxTokens) => {
        const tokens = cut(encode(text), sizes);
        fc.pre(tokens.length >= maxTokens);
        const { text: said, verdict, output } = play([...tokens, END], { stop: { strings, tokens: [] }, maxTokens });
        const bytes = Buffer.concat(tokens.slice(0, maxTokens).map((token) => token.bytes));
        const matcher = createStopMatcher(strings);
        const step = matcher.push(new TextDecoder().decode(bytes, { stream: true }));
        assert.equal(said, step.match === undefined ? step.text + matcher.end() : step.text);
        assert.ok(verdict.type === 'finished');
        assert.equal(verdict.reason, step.match === undefined ? 'length' : 'stop');
        assert.ok(output.tokens <= maxTokens);
      }),
    );
  });

  it('a full context says what was held back, up to a stop string in it', () => {
    const plain = play(tokensOf('a', 'E'), { stop: { strings: ['END'], tokens: [] } });
    assert.deepEqual(plain.output.cut(), { type: 'finished', reason: 'length' });
    assert.equal(plain.lines.map((line) => line.text).join(''), 'aE');
    const held = play(tokensOf('END', 'b'), { stop: { strings: ['END'], tokens: [[0, 1, 2]] } });
    assert.deepEqual(held.output.cut(), { type: 'finished', reason: 'stop', stop: 'END' });
    assert.equal(held.lines.length, 0);
  });
});

const phaseEnd = (keepTokens: number, keepText = '', more: object = {}) => ({
  type: 'phase-end',
  keepTokens,
  keepText,
  append: [],
  rest: '',
  ...more,
});

/** What of the first phase stays in the context, as bytes read. */
const keptText = (tokens: readonly Token[], { keepTokens, keepText }: { keepTokens: number; keepText: string }) =>
  Buffer.concat(tokens.slice(0, keepTokens).map((token) => token.bytes)).toString() + keepText;

describe('a thought', () => {
  const phases: Phase[] = [{ kind: 'thought', until: { text: '</t>', tokens: 6 }, next: 1 }, { kind: 'answer' }];

  it('ends at its text; tokens that carry it leave, and what stood before it in one of them stays as text', () => {
    const { verdict, text } = play(tokensOf('one', ' two</', 't> three'), { phases });
    assert.deepEqual(verdict, { ...phaseEnd(1, ' two'), rest: ' three' });
    assert.equal(text, 'one two');
  });

  it('keeps exactly the text before the mark, however the bytes are cut', () => {
    const before = fc.string({ unit: fc.constantFrom('a', '<', '/', 't', 'é', '😀'), maxLength: 8 });
    fc.assert(
      fc.property(before, anySizes, (said, sizes) => {
        const tokens = cut(encode(`${said}</t>`), sizes);
        const { verdict, text } = play([...tokens, END], {
          phases: [{ kind: 'thought', until: { text: '</t>' }, next: 1 }, { kind: 'answer' }],
        });
        assert.ok(verdict.type === 'phase-end');
        assert.equal(keptText(tokens, verdict), text);
        assert.equal(text, said);
      }),
    );
  });

  it('ends after its tokens, and at the end of the model, and keeps them', () => {
    assert.deepEqual(play(tokensOf(...'abcdefgh'), { phases }).verdict, phaseEnd(6));
    assert.deepEqual(play([...tokensOf('a', 'b'), END], { phases }).verdict, phaseEnd(2));
  });

  it('loses half a character at its last token from output and context alike', () => {
    const tokens = [
      ...tokensOf(...'abcd'),
      tokenOf(encode('xé').subarray(0, 2), 4),
      tokenOf(encode('é').subarray(1), 5),
    ];
    const { verdict, text } = play(tokens, {
      phases: [{ kind: 'thought', until: { tokens: 5 }, next: 1 }, { kind: 'answer' }],
    });
    assert.deepEqual(verdict, phaseEnd(4, 'x'));
    assert.equal(text, 'abcdx');
  });

  it('has neither stop strings nor stop ids nor log probabilities, and maxTokens does not count it', () => {
    const call = { phases, stop: { strings: ['a'], tokens: [[1]] }, maxTokens: 1 };
    const { verdict, lines } = play(tokensOf('a', 'b'), call);
    assert.deepEqual(verdict, { type: 'more' });
    assert.ok(lines.every((line) => line.logprobs === undefined && line.phase === 0));
  });

  it('that uses up the tokens of the whole is the end of the answer', () => {
    const short: Phase[] = [{ kind: 'thought', until: { text: '</t>', tokens: 2 }, next: 1 }, { kind: 'answer' }];
    for (const tokens of [tokensOf('a', '</t>'), tokensOf('a', 'b')])
      assert.deepEqual(play(tokens, { phases: short, maxTotalTokens: 2 }).verdict, {
        type: 'finished',
        reason: 'length',
      });
  });

  it('is told from the answer in the counts', () => {
    const { output } = play(tokensOf('a', 'b', '</t>'), { phases });
    assert.deepEqual([output.phase, output.tokens, output.thoughtTokens], [1, 3, 3]);
    for (const token of tokensOf('c', 'd')) output.push(token);
    assert.deepEqual([output.phase, output.tokens, output.thoughtTokens], [1, 5, 3]);
  });
});

describe('a trigger', () => {
  const to = (pattern: string, ...more: { pattern: string; phase: number }[]): Phase[] => [
    { kind: 'answer', triggers: [{ pattern, phase: 1 }, ...more] },
    { kind: 'call' },
    { kind: 'call' },
  ];

  it('inside a token cuts it: output and context end with the match, the rest is dropped', () => {
    const { verdict, text, output } = play(tokensOf('say ', '<c>{"x'), { phases: to('<c>') });
    assert.deepEqual(verdict, phaseEnd(1, '<c>', { rest: '{"x' }));
    assert.equal(text, 'say <c>');
    assert.deepEqual([output.phase, output.kind], [1, 'call']);
  });

  it('across tokens, and at the end of one, keeps the tokens', () => {
    assert.deepEqual(play(tokensOf('a<', 'c', '>'), { phases: to('<c>') }).verdict, phaseEnd(3));
    assert.deepEqual(play(tokensOf('<c>'), { phases: to('<c>') }).verdict, phaseEnd(1));
  });

  it('that ends first wins; of two that end together, the first of the list', () => {
    const two = to('"n": "a"', { pattern: '"n": "', phase: 2 });
    assert.equal(play(tokensOf('"n": "a"'), { phases: two }).output.phase, 2);
    const same = to('[a-z]>', { pattern: '<c>', phase: 2 });
    assert.equal(play(tokensOf('<c>'), { phases: same }).output.phase, 1);
    const reversed = to('<c>', { pattern: '[a-z]>', phase: 2 });
    assert.equal(play(tokensOf('<c>'), { phases: reversed }).output.phase, 1);
  });

  it('is found at every character, and cuts what follows, however the bytes are cut', () => {
    const before = fc.string({ unit: fc.constantFrom('a', '<', 'é', '漢', '😀'), maxLength: 10 });
    const after = fc.string({ unit: fc.constantFrom('a', 'é', '😀'), maxLength: 4 });
    fc.assert(
      fc.property(before, after, anySizes, anyStops, (said, rest, sizes, strings) => {
        const tokens = cut(encode(`${said}<c>${rest}`), sizes);
        const { verdict, text } = play([...tokens, END], { phases: to('<c>'), stop: { strings, tokens: [] } });
        const matcher = createStopMatcher(strings);
        const { text: unstopped, match } = matcher.push(`${said}<c>`);
        if (match !== undefined) {
          assert.deepEqual(verdict, { type: 'finished', reason: 'stop', stop: match });
          assert.equal(text, unstopped);
          return;
        }
        assert.ok(verdict.type === 'phase-end');
        assert.equal(text, `${said}<c>`);
        assert.equal(keptText(tokens, verdict), text);
      }),
    );
  });

  it('says what a stop string held back; a stop string that is whole before its end wins', () => {
    const phases = to('<c>');
    const held = play(tokensOf('a', '<c', '>!!'), { phases, stop: { strings: ['<c>!!'], tokens: [] } });
    assert.deepEqual(held.verdict, phaseEnd(2, '>', { rest: '!!' }));
    assert.equal(held.text, 'a<c>');
    const stopped = play(tokensOf('a', '<c>'), { phases, stop: { strings: ['c>'], tokens: [] } });
    assert.deepEqual(stopped.verdict, { type: 'finished', reason: 'stop', stop: 'c>' });
    assert.equal(stopped.text, 'a<');
  });

  it('is seen in tokens that were held back for a stop id, also at the very end; what was held behind it leaves', () => {
    const call = { phases: to('b'), stop: { strings: [], tokens: [[0, 1, 2, 9]] } };
    const { verdict, text } = play([...tokensOf('a', 'b', 'c'), END], call);
    assert.deepEqual(verdict, phaseEnd(2));
    assert.equal(text, 'ab');
  });

  it('gives log probabilities to the tokens of the answer only', () => {
    const { output, lines } = play(tokensOf('a', '<c>x'), { phases: to('<c>') });
    output.push(tokenOf(encode('y'), 2));
    assert.deepEqual(
      lines.map(({ phase, logprobs }) => [phase, logprobs?.map(({ id }) => id)]),
      [
        [0, [0]],
        [0, [1]],
        [1, undefined],
      ],
    );
  });

  it('looks back as far as the window, and no farther', () => {
    const far = (filler: number) => tokensOf('<', 'x'.repeat(filler), '>').concat(END);
    const phases = to('<x*>');
    assert.equal(play(far(TRIGGER_WINDOW_CHARS - 2), { phases }).verdict.type, 'phase-end');
    assert.equal(play(far(TRIGGER_WINDOW_CHARS - 1), { phases }).verdict.type, 'finished');
  });
});

describe('a call', () => {
  const phases: Phase[] = [
    { kind: 'answer', triggers: [{ pattern: '<c>', phase: 1 }] },
    { kind: 'call', next: 0, thenAppend: [{ text: '\n', special: false }] },
  ];

  it('goes back to free text at its end, and to the next call from there', () => {
    const output = play([], { phases }).output;
    const verdicts = [...tokensOf('<c>', 'x'), END, ...tokensOf('a', '<c>', 'y'), END, END].map((token) =>
      output.push(token),
    );
    assert.deepEqual(
      verdicts.flatMap((verdict) => (verdict.type === 'more' ? [] : [verdict])),
      [
        phaseEnd(1),
        phaseEnd(1, '', { append: [{ text: '\n', special: false }] }),
        phaseEnd(2),
        phaseEnd(1, '', { append: [{ text: '\n', special: false }] }),
        { type: 'finished', reason: 'stop' },
      ],
    );
    assert.deepEqual([output.tokens, output.thoughtTokens], [5, 0]);
  });

  it('has no stop strings, but is limited by maxTokens together with the answer', () => {
    const call = { phases, maxTokens: 3, stop: { strings: ['x'], tokens: [] } };
    const output = play([], call).output;
    const verdicts = tokensOf('<c>', 'x', 'z').map((token) => output.push(token));
    assert.deepEqual(verdicts, [phaseEnd(1), { type: 'more' }, { type: 'finished', reason: 'length' }]);
    assert.deepEqual(play(tokensOf('<c>'), { phases, maxTokens: 1 }).verdict, { type: 'finished', reason: 'length' });
  });

  it('without a phase behind it is the end; phases that say nothing do not go round for ever', () => {
    assert.deepEqual(play([...tokensOf('x'), END], { phases: [{ kind: 'call' }] }).verdict, {
      type: 'finished',
      reason: 'stop',
    });
    const { output } = play([], { phases: [{ kind: 'call', next: 0 }] });
    const ends = Array.from({ length: 9 }, () => output.push(END).type);
    assert.deepEqual(ends.indexOf('finished'), 8);
  });
});
