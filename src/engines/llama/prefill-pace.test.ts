import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createPrefillPace } from './prefill-pace.ts';

test('createPrefillPace keeps slices below 250 ms after the first, at a steady speed', () => {
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

test('createPrefillPace ignores batches of single generated tokens', () => {
  const pace = createPrefillPace({ batchTokensMax: 512 });
  pace.observe({ tokens: 64, items: 1, ms: 64 });
  const before = pace.sliceTokens(0);
  pace.observe({ tokens: 8, items: 8, ms: 800 });
  assert.equal(pace.sliceTokens(0), before);
});

test('createPrefillPace ignores a measured time of 0', () => {
  const pace = createPrefillPace({ batchTokensMax: 512 });
  pace.observe({ tokens: 64, items: 1, ms: 0 });
  assert.equal(pace.sliceTokens(0), 16);
});

test('createPrefillPace never overfills a batch', () => {
  const pace = createPrefillPace({ batchTokensMax: 64 });
  pace.observe({ tokens: 64, items: 1, ms: 1 });
  assert.equal(pace.sliceTokens(0), 64);
  assert.equal(pace.sliceTokens(6), 58);
});
