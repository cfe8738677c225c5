import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeUsage } from './usage.ts';

const CONSUMED = { promptTokens: 3_000, cachedTokens: 1_200, completionTokens: 5 };

const details = (more: object): Record<string, unknown> => {
  const { prompt_tokens_details: told } = encodeUsage({ ...CONSUMED, ...more }) as {
    prompt_tokens_details: Record<string, unknown>;
  };
  return told;
};

test('an explicit cache is told by its counters, and by its type only where it was used', () => {
  assert.partialDeepStrictEqual(details({ cacheCreationTokens: 1_824, usesExplicitCache: true }), {
    cached_tokens: 1_200,
    cache_creation: { ephemeral_5m_input_tokens: 1_824 },
    cache_creation_input_tokens: 1_824,
    cache_type: 'ephemeral',
  });
  assert.equal(details({ cacheCreationTokens: 0, usesExplicitCache: true })['cache_type'], 'ephemeral');
  for (const unused of [{}, { cacheCreationTokens: 0 }]) {
    const told = details(unused);
    assert.ok(!('cache_type' in told));
    assert.deepEqual(
      [told['cache_creation_input_tokens'], told['cache_creation']],
      [0, { ephemeral_5m_input_tokens: 0 }],
    );
  }
});
