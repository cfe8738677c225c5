import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeUsage } from './usage.ts';

const CONSUMED = { promptTokens: 3_000, cachedTokens: 1_200, completionTokens: 5 };

const encodeDetails = (more: object): Record<string, unknown> => {
  const { prompt_tokens_details: encoded } = encodeUsage({ ...CONSUMED, ...more }) as {
    prompt_tokens_details: Record<string, unknown>;
  };
  return encoded;
};

test('encodes cache counters always, and the cache type only if an explicit cache was used', () => {
  assert.partialDeepStrictEqual(encodeDetails({ cacheCreationTokens: 1_824, usesExplicitCache: true }), {
    cached_tokens: 1_200,
    cache_creation: { ephemeral_5m_input_tokens: 1_824 },
    cache_creation_input_tokens: 1_824,
    cache_type: 'ephemeral',
  });
  assert.equal(encodeDetails({ cacheCreationTokens: 0, usesExplicitCache: true })['cache_type'], 'ephemeral');
  for (const unused of [{}, { cacheCreationTokens: 0 }]) {
    const encoded = encodeDetails(unused);
    assert.ok(!('cache_type' in encoded));
    assert.deepEqual(
      [encoded['cache_creation_input_tokens'], encoded['cache_creation']],
      [0, { ephemeral_5m_input_tokens: 0 }],
    );
  }
});

test('reports tokens of pictures and sound as parts of the prompt', () => {
  const usage = encodeUsage({ promptTokens: 10, cachedTokens: 0, completionTokens: 1, imageTokens: 5, audioTokens: 3 });
  assert.match(JSON.stringify(usage), /"audio_tokens":3,"cached_tokens":0,"text_tokens":2,"image_tokens":5/);
});
