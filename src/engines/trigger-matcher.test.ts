import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scaleInputSize } from '../../test/property-runs.ts';
import type { GenerationPhase } from '../core/prompt.ts';
import { createTriggerMatcher } from './trigger-matcher.ts';

const createPhases = (...patterns: string[]): GenerationPhase[] => [
  { kind: 'answer', triggers: patterns.map((pattern, at) => ({ pattern, phase: at + 1 })) },
];

describe('createTriggerMatcher', () => {
  it('finds a match wherever it can end, whatever the pattern ends with', () => {
    for (const [pattern, text] of [
      ['ab', 'xab'],
      ['a|b', 'xb'],
      ['(?:a|b)"', 'x b"'],
      ['a\\}', 'a}'],
      ['a\\x41', 'aA'],
      ['a\\u{1F600}', 'a😀'],
      ['a😀', 'a😀'],
      ['(?<n>a)\\k<n>', 'aa'],
      ['(a)\\1', 'aa'],
      ['a+', 'aaa'],
      ['a{2}', 'aa'],
      ['[ab|]', 'x|'],
      ['"name"\\s*:\\s*"get_weather"', '{"name" : "get_weather"'],
      ['a\\|b', 'a|b'],
      ['a.', 'ab'],
      ['a\\/', 'a/'],
      ['a\\p{L}', 'aé'],
    ] as const) {
      const found = createTriggerMatcher(createPhases(pattern)).find(0, '', text);
      const first = [...text]
        .map((_, at, all) => all.slice(0, at + 1).join(''))
        .find((before) => new RegExp(`(?:${pattern})$`, 'u').test(before));
      assert.deepEqual(found, { end: first?.length, phase: 1 }, pattern);
    }
  });

  it('returns the match that ends first, then the first trigger, however the text is split', () => {
    const patterns = ['ab', 'b', 'a|c', 'bc', '[cd]{2}', 'd'];
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd', 'x', '😀'), maxLength: 12 });
    fc.assert(
      fc.property(fc.subarray(patterns), text, fc.nat({ max: 12 }), (some, whole, at) => {
        const triggers = createTriggerMatcher(createPhases(...some));
        const points = [...whole];
        const [before, piece] = [points.slice(0, at).join(''), points.slice(at).join('')];
        const found = triggers.find(0, before, piece);
        let expected: { end: number; phase: number } | undefined;
        for (let end = before.length + 1; end <= whole.length && !expected; end++) {
          const phase = some.findIndex((pattern) => new RegExp(`(?:${pattern})$`, 'u').test(whole.slice(0, end)));
          if (phase >= 0) expected = { end: end - before.length, phase: phase + 1 };
        }
        assert.deepEqual(found, expected);
      }),
    );
  });

  it('stays fast with hundreds of triggers', () => {
    const triggers = createTriggerMatcher(
      createPhases(...Array.from({ length: 500 }, (_, i) => `"name"\\s*:\\s*"tool_${i}"`)),
    );
    // Measures this thread only: load of other programs on the machine does not count.
    const before = process.threadCpuUsage();
    for (let i = 0; i < scaleInputSize(1_000); i++) triggers.find(0, 'word '.repeat(100), ' and "words"');
    assert.ok(process.threadCpuUsage(before).user < 5_000_000);
    assert.deepEqual(triggers.find(0, '{"name": ', '"tool_499", '), { end: 10, phase: 500 });
  });
});
