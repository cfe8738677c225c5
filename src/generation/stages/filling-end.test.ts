import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { EngineEvent, FinishReason } from '../../core/event.ts';
import { createFillingEnd } from './filling-end.ts';
import { createBlockEnd } from './block-end.ts';
import { beginningOf, FENCE, lookFor } from './line-pattern.ts';
import type { Look } from './line-pattern.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

const SUFFIX = '\n    return total_of(rows)\n\nprint(total)\n';

/** On an empty line of a block. */
const PREFIX = 'def total_of(rows):\n';

const endsOf = (suffix: string): readonly Look[] => {
  const beginning = beginningOf(suffix);
  const patterns = [...(beginning ? [beginning] : []), FENCE];
  const blockEnd = createBlockEnd({ prefix: PREFIX, suffix });
  return [
    ...patterns.map(
      (pattern): Look =>
        (seen, at) =>
          lookFor(pattern, seen, at),
    ),
    ...(blockEnd ? [blockEnd] : []),
  ];
};

interface Told {
  readonly text: string;
  readonly tokens: number;
  readonly ends: readonly FinishReason[];
}

function run(pieces: readonly string[], reason: FinishReason = 'length', suffix = SUFFIX): Told {
  const stage = createFillingEnd(endsOf(suffix));
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

describe('what fills a gap', () => {
  it('ends where it starts to repeat what comes after, once, whatever is said then', () => {
    const told = run(['for r in rows:', '\n        x += r', SUFFIX, 'def more():\n', SUFFIX]);
    assert.deepEqual(told, { text: 'for r in rows:\n        x += r', tokens: 3, ends: ['stop'] });
  });

  it('ends at a fence, and before it where it begins with one', () => {
    assert.equal(run(['return 1', '\n``', '`\nSure']).text, 'return 1');
    assert.equal(run(['```python\nreturn 1']).text, '');
  });

  it('is told as it is otherwise, with its own end', () => {
    assert.deepEqual(run(['a\n    return tot', 'als'], 'length'), {
      text: 'a\n    return totals',
      tokens: 2,
      ends: ['length'],
    });
    assert.deepEqual(run(['a\n    return'], 'stop').ends, ['stop']);
  });

  it('holds back only what may still become a repetition', () => {
    const stage = createFillingEnd(endsOf(SUFFIX));
    const out: string[] = [];
    const emit = (event: ChoiceEvent): void => void (event.type === 'text' && out.push(event.text));
    for (const text of ['a', '\n', '    ret', 'ry', ' x\n'])
      stage.push({ type: 'text', choice: 0, text, tokens: 1, phase: 0 }, emit);
    assert.equal(out.join(''), 'a\n    retry x');
    assert.equal(out[0], 'a');
  });

  it('is looked at in time linear in it, whatever it is made of and however it comes', () => {
    const msOf = (pieces: readonly string[], suffix: string): number => {
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
          const small = msOf(make(1 << 9), SUFFIX);
          const large = msOf(make(1 << 13), SUFFIX);
          // Sixteen times the text; a square would be 256 times the work.
          assert.ok(large < Math.max(small, 5) * 64, `${JSON.stringify(begin + blank)}: ${small} ms and ${large} ms`);
        }
      }
    const wide = `a${' '.repeat(1 << 16)}b\n`;
    assert.ok(msOf(['x'], wide) < 1_000, 'a suffix of blanks');
  });

  it('knows a string of several lines by its marks, also where they come one by one', () => {
    for (const pieces of [[' """\n}'], [' ', '"', '"', '"', '\n', '}']])
      assert.equal(run(pieces, 'stop', '\n}\n').text, ' """\n}');
  });

  it('is the same however it is cut', () => {
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
      fc.property(fc.array(part, { maxLength: 14 }), fc.array(fc.nat()), suffix, (parts, cuts, behind) => {
        const whole = parts.join('');
        const places = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].toSorted((a, b) => a - b);
        const pieces = [0, ...places].map((from, i) => whole.slice(from, places[i] ?? whole.length));
        const told = run(pieces, 'stop', behind);
        const once = run([whole], 'stop', behind);
        assert.equal(told.text, once.text);
        assert.ok(whole.startsWith(told.text));
        assert.deepEqual(told.ends, ['stop']);
      }),
    );
  });
});
