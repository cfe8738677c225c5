import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TRIGGER_WINDOW_CHARS } from './limits.ts';
import type { GenerationPhase } from '../core/prompt.ts';
import { createStopMatcher } from '../lib/stop-matcher.ts';
import {
  createChoiceOutput,
  type OutputOptions,
  type OutputDelta,
  type SampledToken,
  type PushResult,
} from './choice-output.ts';
import { createTriggerMatcher } from './trigger-matcher.ts';

interface Likelihood {
  readonly id: number;
  readonly bytes: readonly number[];
}
type Token = SampledToken<Likelihood>;

const NO_STOPS: OutputOptions = { stop: { strings: [], tokens: [] }, phases: [] };
const END: Token = { id: -1, bytes: new Uint8Array(), isEndToken: true };

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const createToken = (bytes: Uint8Array, id: number): Token => ({
  id,
  bytes,
  isEndToken: false,
  logprobs: { id, bytes: [...bytes] },
});

const createTokens = (...texts: string[]): Token[] => texts.map((text, id) => createToken(encode(text), id));

/** Pushes tokens until the result is not `more`. */
function runOutput(tokens: readonly Token[], call: Partial<OutputOptions> = {}) {
  const lines: OutputDelta<Likelihood>[] = [];
  const output = createChoiceOutput<Likelihood>(
    { ...NO_STOPS, ...call },
    { triggers: createTriggerMatcher(call.phases ?? []), onDelta: (delta) => lines.push(delta) },
  );
  let verdict: PushResult = { type: 'more' };
  for (const token of tokens) {
    verdict = output.push(token);
    if (verdict.type !== 'more') break;
  }
  return { output, verdict, lines, text: lines.map((line) => line.text).join('') };
}

const split = (bytes: Uint8Array, sizes: readonly number[]): Token[] => {
  const tokens: Token[] = [];
  for (let from = 0, id = 0; from < bytes.length; id++) {
    const size = sizes[id % Math.max(1, sizes.length)] ?? 1;
    tokens.push(createToken(bytes.subarray(from, from + size), id));
    from += size;
  }
  return tokens;
};

const anyText = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '漢', '😀'), maxLength: 30 });
const anySizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 });
const anyStops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'é', '漢'), minLength: 1, maxLength: 3 }), {
  maxLength: 3,
});

describe('createChoiceOutput: answers', () => {
  it('produces the same text and the same end however the bytes are split into tokens', () => {
    fc.assert(
      fc.property(anyText, anyStops, anySizes, (text, strings, sizes) => {
        const call = { stop: { strings, tokens: [] } };
        const whole = runOutput([...createTokens(text), END], call);
        const pieces = runOutput([...split(encode(text), sizes), END], call);
        assert.equal(pieces.text, whole.text);
        assert.deepEqual(pieces.verdict, whole.verdict);
        const matcher = createStopMatcher(strings);
        const { text: before, match } = matcher.push(text);
        assert.equal(whole.text, match === undefined ? before + matcher.end() : before);
      }),
    );
  });

  it('emits log probabilities in step with the text of their tokens', () => {
    fc.assert(
      fc.property(anyText, anyStops, anySizes, (text, strings, sizes) => {
        const tokens = split(encode(text), sizes);
        const { lines, text: emitted, verdict } = runOutput([...tokens, END], { stop: { strings, tokens: [] } });
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
          // The answer contains a part of a token that started before the stop string.
          const isLast = isStopped && at === lines.length - 1;
          assert.ok(isLast ? released.startsWith(out) || out.startsWith(released) : out.startsWith(released));
        }
        if (!isStopped) assert.equal(count, tokens.length);
        assert.ok(isStopped || released === emitted);
      }),
    );
  });

  it('omits a stop string, also one that starts inside a token', () => {
    const { text, verdict, lines } = runOutput(createTokens('one E', 'N', 'D two'), {
      stop: { strings: ['END'], tokens: [] },
    });
    assert.equal(text, 'one ');
    assert.deepEqual(verdict, { type: 'finished', reason: 'stop', stop: 'END' });
    assert.deepEqual(
      lines.flatMap((line) => line.logprobs?.map(({ id }) => id) ?? []),
      [0],
    );
  });

  it('emits text that was held back and did not become a stop string', () => {
    assert.equal(
      runOutput([...createTokens('a', 'E', 'N'), END], { stop: { strings: ['END'], tokens: [] } }).text,
      'aEN',
    );
  });

  it('counts every sampled token exactly once in its deltas', () => {
    fc.assert(
      fc.property(anyText, anySizes, (text, sizes) => {
        const tokens = split(encode(text), sizes);
        const { lines, output } = runOutput([...tokens, END]);
        assert.equal(
          lines.reduce((sum, line) => sum + line.tokens, 0),
          tokens.length,
        );
        assert.equal(output.totalTokens, tokens.length);
      }),
    );
  });
});

describe('createChoiceOutput: stop token ids', () => {
  it('end the answer before them, unless a stop string in the held-back text ends it earlier', () => {
    const ids = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 12 });
    const stops = fc.array(fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 3 }), { maxLength: 3 });
    const TEXTS = ['a', 'b', 'ab'];
    fc.assert(
      fc.property(ids, stops, anyStops, (run, tokens, strings) => {
        const sampled = run.map((id) => createToken(encode(TEXTS[id] ?? ''), id));
        const { text, verdict } = runOutput([...sampled, END], { stop: { strings, tokens } });

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
          // An empty string means that token ids ended the answer.
          ...(match === undefined ? (kept === run ? {} : { stop: '' }) : { stop: match }),
        });
      }),
    );
  });

  it('hold back a token only while it may start a stop sequence', () => {
    const { lines } = runOutput(createTokens('a', 'b', 'c'), { stop: { strings: [], tokens: [[0, 1, 9]] } });
    assert.deepEqual(
      lines.map((line) => line.text),
      ['a', 'b', 'c'],
    );
  });

  it('do not carry text past a stop string when a limit ends the answer', () => {
    const { text, verdict } = runOutput(createTokens('x', 'y', 'z'), {
      stop: { strings: ['x'], tokens: [[0, 1, 2, 3]] },
      maxTokens: 2,
    });
    assert.equal(text, '');
    assert.deepEqual(verdict, { type: 'finished', reason: 'stop', stop: 'x' });
  });
});

describe('createChoiceOutput: limits', () => {
  it('cut after maxTokens tokens, drop a partial character, and yield to a stop string', () => {
    fc.assert(
      fc.property(anyText, anyStops, anySizes, fc.integer({ min: 1, max: 10 }), (text, strings, sizes, maxTokens) => {
        const tokens = split(encode(text), sizes);
        fc.pre(tokens.length >= maxTokens);
        const {
          text: emitted,
          verdict,
          output,
        } = runOutput([...tokens, END], { stop: { strings, tokens: [] }, maxTokens });
        const bytes = Buffer.concat(tokens.slice(0, maxTokens).map((token) => token.bytes));
        const matcher = createStopMatcher(strings);
        const step = matcher.push(new TextDecoder().decode(bytes, { stream: true }));
        assert.equal(emitted, step.match === undefined ? step.text + matcher.end() : step.text);
        assert.ok(verdict.type === 'finished');
        assert.equal(verdict.reason, step.match === undefined ? 'length' : 'stop');
        assert.ok(output.totalTokens <= maxTokens);
      }),
    );
  });

  it('emit held-back text at the context limit, up to a stop string in it', () => {
    const plain = runOutput(createTokens('a', 'E'), { stop: { strings: ['END'], tokens: [] } });
    assert.deepEqual(plain.output.finishAtContextLimit(), { type: 'finished', reason: 'length' });
    assert.equal(plain.lines.map((line) => line.text).join(''), 'aE');
    const held = runOutput(createTokens('END', 'b'), { stop: { strings: ['END'], tokens: [[0, 1, 2]] } });
    assert.deepEqual(held.output.finishAtContextLimit(), { type: 'finished', reason: 'stop', stop: 'END' });
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

/** Returns the text of the first phase that stays in the context. */
const keptText = (tokens: readonly Token[], { keepTokens, keepText }: { keepTokens: number; keepText: string }) =>
  Buffer.concat(tokens.slice(0, keepTokens).map((token) => token.bytes)).toString() + keepText;

describe('createChoiceOutput: thoughts', () => {
  const phases: GenerationPhase[] = [
    { kind: 'thought', until: { text: '</t>', tokens: 6 }, nextPhase: 1 },
    { kind: 'answer' },
  ];

  it('end at their end text; tokens that contain it leave the context, and earlier text of such a token stays as text', () => {
    const { verdict, text } = runOutput(createTokens('one', ' two</', 't> three'), { phases });
    assert.deepEqual(verdict, { ...phaseEnd(1, ' two'), rest: ' three' });
    assert.equal(text, 'one two');
  });

  it('keep exactly the text before the end mark, however the bytes are split', () => {
    const before = fc.string({ unit: fc.constantFrom('a', '<', '/', 't', 'é', '😀'), maxLength: 8 });
    fc.assert(
      fc.property(before, anySizes, (output, sizes) => {
        const tokens = split(encode(`${output}</t>`), sizes);
        const { verdict, text } = runOutput([...tokens, END], {
          phases: [{ kind: 'thought', until: { text: '</t>' }, nextPhase: 1 }, { kind: 'answer' }],
        });
        assert.ok(verdict.type === 'phase-end');
        assert.equal(keptText(tokens, verdict), text);
        assert.equal(text, output);
      }),
    );
  });

  it('end at their token limit and at the end token, and keep all tokens', () => {
    assert.deepEqual(runOutput(createTokens(...'abcdefgh'), { phases }).verdict, phaseEnd(6));
    assert.deepEqual(runOutput([...createTokens('a', 'b'), END], { phases }).verdict, phaseEnd(2));
  });

  for (const [texts, kept] of [
    [['a', 'b', '</'], 'ab'],
    [['a', 'b', '</t'], 'ab'],
    [['a', 'b<', '/', 't'], 'ab'],
    [['a', 'b', '</i'], 'ab</i'],
  ] as const) {
    it(`drop the first half of their end mark when a limit ends them inside it: ${texts.join('|')}`, () => {
      const cut = { kind: 'thought', until: { text: '</t>', tokens: texts.length }, nextPhase: 1 } as const;
      const tokens = createTokens(...texts);
      const { verdict, text } = runOutput(tokens, { phases: [cut, { kind: 'answer' }] });
      assert.ok(verdict.type === 'phase-end');
      assert.equal(text, kept);
      assert.equal(keptText(tokens, verdict), kept);
      const total = runOutput(tokens, { phases, maxTotalTokens: texts.length });
      assert.deepEqual([total.verdict, total.text], [{ type: 'finished', reason: 'length' }, kept]);
    });
  }

  it('drop a partial character of their last token from output and context', () => {
    const tokens = [
      ...createTokens(...'abcd'),
      createToken(encode('xé').subarray(0, 2), 4),
      createToken(encode('é').subarray(1), 5),
    ];
    const { verdict, text } = runOutput(tokens, {
      phases: [{ kind: 'thought', until: { tokens: 5 }, nextPhase: 1 }, { kind: 'answer' }],
    });
    assert.deepEqual(verdict, phaseEnd(4, 'x'));
    assert.equal(text, 'abcdx');
  });

  it('ignore stop strings, stop ids, log probabilities and maxTokens', () => {
    const call = { phases, stop: { strings: ['a'], tokens: [[1]] }, maxTokens: 1 };
    const { verdict, lines } = runOutput(createTokens('a', 'b'), call);
    assert.deepEqual(verdict, { type: 'more' });
    assert.ok(lines.every((line) => line.logprobs === undefined && line.phase === 0));
  });

  it('end the answer when they use up maxTotalTokens', () => {
    const short: GenerationPhase[] = [
      { kind: 'thought', until: { text: '</t>', tokens: 2 }, nextPhase: 1 },
      { kind: 'answer' },
    ];
    for (const tokens of [createTokens('a', '</t>'), createTokens('a', 'b')])
      assert.deepEqual(runOutput(tokens, { phases: short, maxTotalTokens: 2 }).verdict, {
        type: 'finished',
        reason: 'length',
      });
  });

  it('are counted separately from the answer', () => {
    const { output } = runOutput(createTokens('a', 'b', '</t>'), { phases });
    assert.deepEqual([output.phase, output.totalTokens, output.thoughtTokens], [1, 3, 3]);
    for (const token of createTokens('c', 'd')) output.push(token);
    assert.deepEqual([output.phase, output.totalTokens, output.thoughtTokens], [1, 5, 3]);
  });
});

describe('createChoiceOutput: triggers', () => {
  const to = (pattern: string, ...more: { pattern: string; phase: number }[]): GenerationPhase[] => [
    { kind: 'answer', triggers: [{ pattern, phase: 1 }, ...more] },
    { kind: 'call' },
    { kind: 'call' },
  ];

  it('cut a token: output and context end with the match, and the rest is dropped', () => {
    const { verdict, text, output } = runOutput(createTokens('say ', '<c>{"x'), { phases: to('<c>') });
    assert.deepEqual(verdict, phaseEnd(1, '<c>', { rest: '{"x' }));
    assert.equal(text, 'say <c>');
    assert.deepEqual([output.phase, output.kind], [1, 'call']);
  });

  it('keep the tokens when the match ends at the end of a token', () => {
    assert.deepEqual(runOutput(createTokens('a<', 'c', '>'), { phases: to('<c>') }).verdict, phaseEnd(3));
    assert.deepEqual(runOutput(createTokens('<c>'), { phases: to('<c>') }).verdict, phaseEnd(1));
  });

  it('prefer the match that ends first, then the first trigger of the list', () => {
    const two = to('"n": "a"', { pattern: '"n": "', phase: 2 });
    assert.equal(runOutput(createTokens('"n": "a"'), { phases: two }).output.phase, 2);
    const same = to('[a-z]>', { pattern: '<c>', phase: 2 });
    assert.equal(runOutput(createTokens('<c>'), { phases: same }).output.phase, 1);
    const reversed = to('<c>', { pattern: '[a-z]>', phase: 2 });
    assert.equal(runOutput(createTokens('<c>'), { phases: reversed }).output.phase, 1);
  });

  it('match at every character and cut what follows, however the bytes are split', () => {
    const before = fc.string({ unit: fc.constantFrom('a', '<', 'é', '漢', '😀'), maxLength: 10 });
    const after = fc.string({ unit: fc.constantFrom('a', 'é', '😀'), maxLength: 4 });
    fc.assert(
      fc.property(before, after, anySizes, anyStops, (output, rest, sizes, strings) => {
        const tokens = split(encode(`${output}<c>${rest}`), sizes);
        const { verdict, text } = runOutput([...tokens, END], { phases: to('<c>'), stop: { strings, tokens: [] } });
        const matcher = createStopMatcher(strings);
        const { text: unstopped, match } = matcher.push(`${output}<c>`);
        if (match !== undefined) {
          assert.deepEqual(verdict, { type: 'finished', reason: 'stop', stop: match });
          assert.equal(text, unstopped);
          return;
        }
        assert.ok(verdict.type === 'phase-end');
        assert.equal(text, `${output}<c>`);
        assert.equal(keptText(tokens, verdict), text);
      }),
    );
  });

  it('emit text held back for a stop string; a stop string that is complete before the trigger ends wins', () => {
    const phases = to('<c>');
    const held = runOutput(createTokens('a', '<c', '>!!'), { phases, stop: { strings: ['<c>!!'], tokens: [] } });
    assert.deepEqual(held.verdict, phaseEnd(2, '>', { rest: '!!' }));
    assert.equal(held.text, 'a<c>');
    const stopped = runOutput(createTokens('a', '<c>'), { phases, stop: { strings: ['c>'], tokens: [] } });
    assert.deepEqual(stopped.verdict, { type: 'finished', reason: 'stop', stop: 'c>' });
    assert.equal(stopped.text, 'a<');
  });

  it('match in tokens held back for a stop id, also at the very end; later held-back tokens leave', () => {
    const call = { phases: to('b'), stop: { strings: [], tokens: [[0, 1, 2, 9]] } };
    const { verdict, text } = runOutput([...createTokens('a', 'b', 'c'), END], call);
    assert.deepEqual(verdict, phaseEnd(2));
    assert.equal(text, 'ab');
  });

  it('leave log probabilities to the tokens of the answer', () => {
    const { output, lines } = runOutput(createTokens('a', '<c>x'), { phases: to('<c>') });
    output.push(createToken(encode('y'), 2));
    assert.deepEqual(
      lines.map(({ phase, logprobs }) => [phase, logprobs?.map(({ id }) => id)]),
      [
        [0, [0]],
        [0, [1]],
        [1, undefined],
      ],
    );
  });

  it('look back exactly TRIGGER_WINDOW_CHARS characters', () => {
    const far = (filler: number) => createTokens('<', 'x'.repeat(filler), '>').concat(END);
    const phases = to('<x*>');
    assert.equal(runOutput(far(TRIGGER_WINDOW_CHARS - 2), { phases }).verdict.type, 'phase-end');
    assert.equal(runOutput(far(TRIGGER_WINDOW_CHARS - 1), { phases }).verdict.type, 'finished');
  });
});

describe('createChoiceOutput: calls', () => {
  const phases: GenerationPhase[] = [
    { kind: 'answer', triggers: [{ pattern: '<c>', phase: 1 }] },
    { kind: 'call', nextPhase: 0, appendOnEnd: [{ text: '\n', special: false }] },
  ];

  it('return to the answer at their end, from which the next call can start', () => {
    const output = runOutput([], { phases }).output;
    const verdicts = [...createTokens('<c>', 'x'), END, ...createTokens('a', '<c>', 'y'), END, END].map((token) =>
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
    assert.deepEqual([output.totalTokens, output.thoughtTokens], [5, 0]);
  });

  it('ignore stop strings, but share maxTokens with the answer', () => {
    const call = { phases, maxTokens: 3, stop: { strings: ['x'], tokens: [] } };
    const output = runOutput([], call).output;
    const verdicts = createTokens('<c>', 'x', 'z').map((token) => output.push(token));
    assert.deepEqual(verdicts, [phaseEnd(1), { type: 'more' }, { type: 'finished', reason: 'length' }]);
    assert.deepEqual(runOutput(createTokens('<c>'), { phases, maxTokens: 1 }).verdict, {
      type: 'finished',
      reason: 'length',
    });
  });

  it('end the answer if no phase follows, and stop after too many empty phases in a row', () => {
    assert.deepEqual(runOutput([...createTokens('x'), END], { phases: [{ kind: 'call' }] }).verdict, {
      type: 'finished',
      reason: 'stop',
    });
    const { output } = runOutput([], { phases: [{ kind: 'call', nextPhase: 0 }] });
    const ends = Array.from({ length: 9 }, () => output.push(END).type);
    assert.deepEqual(ends.indexOf('finished'), 8);
  });
});
