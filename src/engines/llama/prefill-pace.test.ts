import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createPrefillPace } from './prefill-pace.ts';

test('a slice of steady speed takes less than 250 ms after the first', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.5, max: 30, noNaN: true }), (msPerToken) => {
      const pace = createPrefillPace({ batchTokensMax: 512 });
      for (let i = 0; i < 10; i++) {
        const tokens = pace.sliceTokens(0);
        assert.ok(tokens >= 8 && tokens <= 512);
        if (i > 0) assert.ok(tokens === 8 || tokens * msPerToken <= 250);
        pace.observe({ tokens, items: 1, ms: tokens * msPerToken });
      }
    }),
  );
});

test('single generated tokens say nothing about the speed of a prompt', () => {
  const pace = createPrefillPace({ batchTokensMax: 512 });
  pace.observe({ tokens: 64, items: 1, ms: 64 });
  const before = pace.sliceTokens(0);
  pace.observe({ tokens: 8, items: 8, ms: 800 });
  assert.equal(pace.sliceTokens(0), before);
});

test('a measured time of nothing is no speed', () => {
  const pace = createPrefillPace({ batchTokensMax: 512 });
  pace.observe({ tokens: 64, items: 1, ms: 0 });
  assert.equal(pace.sliceTokens(0), 16);
});

test('a batch is not overfilled', () => {
  const pace = createPrefillPace({ batchTokensMax: 64 });
  pace.observe({ tokens: 64, items: 1, ms: 1 });
  assert.equal(pace.sliceTokens(0), 64);
  assert.equal(pace.sliceTokens(6), 58);
});
