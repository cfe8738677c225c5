import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scaleInputSize } from '../../../test/property-runs.ts';
import type { ChoiceEvent, FinishReason } from '../../core/event.ts';
import { createFillingEndStage } from './filling-end.ts';
import { createBlockEndDetector } from './block-end.ts';
import { createBeginningPattern, FENCE_PATTERN, matchLinePattern, type EndDetector } from './line-pattern.ts';

const SUFFIX = '\n    return total_of(rows)\n\nprint(total)\n';

/** The gap is on an empty line of a block. */
const PREFIX = 'def total_of(rows):\n';

const createDetectors = (suffix: string): readonly EndDetector[] => {
  const beginning = createBeginningPattern(suffix);
  const patterns = [...(beginning ? [beginning] : []), FENCE_PATTERN];
  const blockEnd = createBlockEndDetector({ prefix: PREFIX, suffix });
  return [
    ...patterns.map(
      (pattern): EndDetector =>
        (seen, at) =>
          matchLinePattern(pattern, seen, at),
    ),
    ...(blockEnd ? [blockEnd] : []),
  ];
};

interface FillingResult {
  readonly text: string;
  readonly tokens: number;
  readonly ends: readonly FinishReason[];
}

function run(pieces: readonly string[], reason: FinishReason = 'length', suffix = SUFFIX): FillingResult {
  const stage = createFillingEndStage(createDetectors(suffix));
  const events: ChoiceEvent[] = [];
  const emit = (event: ChoiceEvent): void => void events.push(event);
  for (const text of pieces) stage.push({ type: 'text', choice: 0, text, tokens: 1, phase: 0 }, emit);
  stage.push({ type: 'choice-end', choice: 0, reason }, emit);
  stage.end(emit);
  return {
    text: events.map((event) => (event.type === 'text' ? event.text : '')).join(''),
    tokens: events.reduce((sum, event) => sum + (event.type === 'text' ? event.tokens : 0), 0),
    ends: events.flatMap((event) => (event.type === 'choice-end' ? [event.reason] : [])),
  };
}

describe('createFillingEndStage', () => {
  it('ends a filling once, where it starts to repeat the text after the gap', () => {
    const result = run(['for r in rows:', '\n        x += r', SUFFIX, 'def more():\n', SUFFIX]);
    assert.deepEqual(result, { text: 'for r in rows:\n        x += r', tokens: 3, ends: ['stop'] });
  });

  it('ends a filling at a fence, also when it starts with one', () => {
    assert.equal(run(['return 1', '\n``', '`\nSure']).text, 'return 1');
    assert.equal(run(['```python\nreturn 1']).text, '');
  });

  it('passes another filling on unchanged with its own end', () => {
    assert.deepEqual(run(['a\n    return tot', 'als'], 'length'), {
      text: 'a\n    return totals',
      tokens: 2,
      ends: ['length'],
    });
    assert.deepEqual(run(['a\n    return'], 'stop').ends, ['stop']);
  });

  it('holds back only text that may become a repetition', () => {
    const stage = createFillingEndStage(createDetectors(SUFFIX));
    const out: string[] = [];
    const emit = (event: ChoiceEvent): void => void (event.type === 'text' && out.push(event.text));
    for (const text of ['a', '\n', '    ret', 'ry', ' x\n'])
      stage.push({ type: 'text', choice: 0, text, tokens: 1, phase: 0 }, emit);
    assert.equal(out.join(''), 'a\n    retry x');
    assert.equal(out[0], 'a');
  });

  it('takes linear time, whatever the text is and however it is split', () => {
    const measureMs = (pieces: readonly string[], suffix: string): number => {
      const before = process.threadCpuUsage();
      run(pieces, 'stop', suffix);
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1000;
    };
    const begins = ['', 'return total_of(rows)', '}', 'x\n', '`', '\n<<A\n'];
    for (const blank of [' ', '\n', '\n    ', ' \n'])
      for (const begin of begins) {
        const pieces = (count: number) => [begin, ...Array.from({ length: count }, () => blank), 'y', '\n', 'z'];
        for (const make of [pieces, (count: number) => [pieces(count).join('')]]) {
          const small = measureMs(make(scaleInputSize(1 << 9)), SUFFIX);
          const large = measureMs(make(scaleInputSize(1 << 13)), SUFFIX);
          // The text grows by a factor of 16; quadratic time would grow by 256.
          assert.ok(large < Math.max(small, 5) * 64, `${JSON.stringify(begin + blank)}: ${small} ms and ${large} ms`);
        }
      }
    const wide = `a${' '.repeat(1 << 16)}b\n`;
    assert.ok(measureMs(['x'], wide) < 1_000, 'a suffix of blanks');
  });

  it('recognizes a multiline string, also when its quotes arrive one by one', () => {
    for (const pieces of [[' """\n}'], [' ', '"', '"', '"', '\n', '}']])
      assert.equal(run(pieces, 'stop', '\n}\n').text, ' """\n}');
  });

  it('returns the same text however it is split', () => {
    const part = fc.constantFrom(
      'x',
      '\n',
      '\n    ',
      ' ',
      'return total_of(rows)',
      '\n}',
      'else:',
      'return',
      '``',
      '`',
      '```',
      '\n\nprint(total)',
      SUFFIX,
      '👍',
      ')',
      'again:',
      '#endif',
      'cat <<EOF',
      '\nEOF\n',
      '"""',
    );
    const suffix = fc.constantFrom(
      SUFFIX,
      'return total_of(rows)',
      ')\n    x',
      '\n}\n',
      '\nelse:\n    y',
      '\n\n\nprint(total)\n',
      ' x `` return  \n\n x',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 14 }), fc.array(fc.nat()), suffix, (parts, cuts, suffixText) => {
        const whole = parts.join('');
        const cutPositions = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].toSorted((a, b) => a - b);
        const pieces = [0, ...cutPositions].map((from, i) => whole.slice(from, cutPositions[i] ?? whole.length));
        const result = run(pieces, 'stop', suffixText);
        const once = run([whole], 'stop', suffixText);
        assert.equal(result.text, once.text);
        assert.ok(whole.startsWith(result.text));
        assert.deepEqual(result.ends, ['stop']);
      }),
    );
  });
});
