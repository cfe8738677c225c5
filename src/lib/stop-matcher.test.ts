import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createStopMatcher } from './stop-matcher.ts';

/** Few letters, so that the strings overlap each other and themselves. */
const word = (limits: { minLength?: number; maxLength: number }) =>
  fc.string({ unit: fc.constantFrom('a', 'b'), ...limits });
const findStops = fc.array(word({ minLength: 1, maxLength: 4 }), { maxLength: 4 });

const run = (pieces: readonly string[], stops: readonly string[]) => {
  const matcher = createStopMatcher(stops);
  let text = '';
  for (const piece of pieces) {
    const step = matcher.push(piece);
    text += step.text;
    if (step.match !== undefined) return { text, match: step.match };
  }
  return { text: text + matcher.end(), match: undefined };
};

test('finds the same match for any division of a text into pieces', () => {
  fc.assert(
    fc.property(fc.array(word({ maxLength: 5 }), { maxLength: 12 }), findStops, (pieces, stops) => {
      assert.deepEqual(run(pieces, stops), run([pieces.join('')], stops));
    }),
  );
});

test('returns the match that is complete first, and of several the one that starts first', () => {
  fc.assert(
    fc.property(word({ maxLength: 20 }), findStops, (text, stops) => {
      const { text: before, match } = run([text], stops);
      // Reference implementation: check after each character.
      for (let end = 0; end <= text.length; end++) {
        const read = text.slice(0, end);
        const hits = stops.filter((stop) => read.endsWith(stop)).toSorted((a, b) => b.length - a.length);
        const [hit] = hits;
        if (hit === undefined) continue;
        assert.equal(match, hit);
        assert.equal(before, read.slice(0, end - hit.length));
        return;
      }
      assert.deepEqual({ before, match }, { before: text, match: undefined });
    }),
  );
});

test('holds back only text that a later piece may complete to a stop string', () => {
  const matcher = createStopMatcher(['</think>', 'END']);
  assert.deepEqual(matcher.push('a<'), { text: 'a' });
  assert.deepEqual(matcher.push('b</thi'), { text: '<b' });
  assert.deepEqual(matcher.push('ck> E'), { text: '</thick> ' });
  assert.deepEqual(matcher.push('ND!'), { text: '', match: 'END', rest: '!' });
});
