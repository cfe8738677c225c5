import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createStopMatcher } from '../../lib/stop-matcher.ts';
import { createChoiceOutput } from './choice-output.ts';
import type { SampledToken, Verdict } from './choice-output.ts';
import type { GenerateCall, Line } from './protocol.ts';

type Call = Pick<GenerateCall, 'stop' | 'maxTokens' | 'maxTotalTokens' | 'phases' | 'logprobs'>;
type TokenLine = Extract<Line, { type: 'token' }>;

const NO_STOPS: Call = { stop: { strings: [], tokens: [] }, phases: [] };
const END: SampledToken = { id: -1, bytes: new Uint8Array(), isEnd: true };

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const tokenOf = (bytes: Uint8Array, id: number): SampledToken => ({
  id,
  bytes,
  isEnd: false,
  logprobs: { id, bytes: [...bytes], logprob: -1, top: [] },
});

const tokensOf = (...texts: string[]): SampledToken[] => texts.map((text, id) => tokenOf(encode(text), id));

/** Pushes tokens until there is a verdict other than `more`. */
function play(tokens: readonly SampledToken[], call: Partial<Call> = {}) {
  const lines: TokenLine[] = [];
  const output = createChoiceOutput({ ...NO_STOPS, ...call }, 0, (line) => {
    assert.equal(line.type, 'token');
    if (line.type === 'token') lines.push(line);
  });
  let verdict: Verdict = { type: 'more' };
  for (const token of tokens) {
    verdict = output.push(token);
    if (verdict.type !== 'more') break;
  }
  return { output, verdict, lines, text: lines.map((line) => line.text).join('') };
}

const cut = (bytes: Uint8Array, sizes: readonly number[]): SampledToken[] => {
  const tokens: SampledToken[] = [];
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
      fc.property(anyText, anyStops, anySizes, fc.boolean(), (text, strings, sizes, withLogprobs) => {
        const tokens = cut(encode(text), sizes);
        const {
          lines,
          text: said,
          verdict,
        } = play([...tokens, END], {
          stop: { strings, tokens: [] },
          ...(withLogprobs ? { logprobs: { top: 0 } } : {}),
        });
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
          ...(match === undefined ? {} : { stop: match }),
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

describe('an earlier phase', () => {
  const phases = [{ until: { text: '</t>', tokens: 6 } }, {}];

  it('ends at its text; tokens that carry it leave, and what stood before it in one of them stays as text', () => {
    const { verdict, text } = play(tokensOf('one', ' two</', 't> three'), { phases });
    assert.deepEqual(verdict, { type: 'phase-end', keepTokens: 1, keepText: ' two' });
    assert.equal(text, 'one two');
  });

  it('keeps exactly the text before the mark, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '<', '/', 't'), maxLength: 8 }), anySizes, (before, sizes) => {
        const tokens = cut(encode(`${before}</t>`), sizes);
        const { verdict, text } = play([...tokens, END], { phases: [{ until: { text: '</t>' } }, {}] });
        assert.ok(verdict.type === 'phase-end');
        const kept = Buffer.concat(tokens.slice(0, verdict.keepTokens).map((token) => token.bytes)).toString();
        assert.equal(kept + verdict.keepText, text);
        assert.equal(text, before);
      }),
    );
  });

  it('ends after its tokens, and at the end of the model, and keeps them', () => {
    assert.deepEqual(play(tokensOf(...'abcdefgh'), { phases }).verdict, {
      type: 'phase-end',
      keepTokens: 6,
      keepText: '',
    });
    assert.deepEqual(play([...tokensOf('a', 'b'), END], { phases }).verdict, {
      type: 'phase-end',
      keepTokens: 2,
      keepText: '',
    });
  });

  it('has neither stop strings nor stop ids nor log probabilities', () => {
    const { verdict, lines } = play(tokensOf('a', 'b'), { phases, stop: { strings: ['a'], tokens: [[1]] } });
    assert.deepEqual(verdict, { type: 'more' });
    assert.ok(lines.every((line) => line.logprobs === undefined && line.phase === 0));
  });

  it('that uses up the tokens of the whole is the end of the answer', () => {
    for (const tokens of [tokensOf('a', '</t>'), tokensOf('a', 'b')])
      assert.deepEqual(
        play(tokens, { phases: [{ until: { text: '</t>', tokens: 2 } }, {}], maxTotalTokens: 2 }).verdict,
        {
          type: 'finished',
          reason: 'length',
        },
      );
  });

  it('is told from the last in the counts', () => {
    const { output } = play(tokensOf('a', 'b', '</t>'), { phases });
    assert.equal(output.earlierPhaseTokens, 3);
    output.nextPhase();
    for (const token of tokensOf('c', 'd')) output.push(token);
    assert.deepEqual([output.phase, output.tokens, output.earlierPhaseTokens], [1, 5, 3]);
  });
});
