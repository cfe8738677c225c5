import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { getWeightsSkipReason } from '../models-folder.ts';
import { useOpenAI } from './use-openai.ts';

const MODEL = 'svc-plus';

/** Shortest prefix that an explicit cache stores, in tokens (docs/wire/openai-compatible.md#context-cache). */
const CACHED_TOKENS_MIN = 1_024;

/** A system prompt of about 1,150 tokens. */
const RULES = Array.from(
  { length: 62 },
  (_, index) => `Rule ${index}: the shelf ${index} holds only boxes of kind ${index}.`,
);

// An explicit cache is one that the request asks for with a mark (`cache_control`).
describe('the explicit cache with the openai client for Node', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  const openai = useOpenAI({ timeout: 290_000, withTinyModel: true });

  // Evaluating such a long prompt may take longer than the default test timeout on a busy machine.
  test('is created by the first request with a mark and hit by the next', { timeout: 400_000 }, async () => {
    const first = await requestDetails('Which shelf holds boxes of kind 7?', true);
    assert.equal(first.cache_type, 'ephemeral');
    const created = first.cache_creation_input_tokens ?? 0;
    assert.ok(created >= CACHED_TOKENS_MIN, `${created} tokens`);
    assert.equal(first.cache_creation?.ephemeral_5m_input_tokens, created);
    assert.equal(first.cached_tokens, 0);

    const second = await requestDetails('And boxes of kind 9?', true);
    assert.equal(second.cache_type, 'ephemeral');
    assert.equal(second.cache_creation_input_tokens, 0);
    assert.equal(second.cache_creation?.ephemeral_5m_input_tokens, 0);
    assert.ok((second.cached_tokens ?? 0) >= created, `${second.cached_tokens} of ${created} tokens`);
  });

  test('is hit by the anthropic client too, whose usage separates cached tokens from the input', async () => {
    const { baseURL, apiKey } = openai.client;
    const origin = new URL(baseURL).origin;
    const anthropic = new Anthropic({ baseURL: `${origin}/apps/anthropic`, apiKey, authToken: null, maxRetries: 0 });
    const params: Anthropic.MessageCountTokensParams = {
      model: MODEL,
      system: [{ type: 'text', text: RULES.join('\n'), cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: 'And boxes of kind 10?' }],
    };
    const { input_tokens: total } = await anthropic.messages.countTokens(params);
    const { usage } = await anthropic.messages.stream({ ...params, max_tokens: 2 }).finalMessage();
    const read = usage.cache_read_input_tokens ?? 0;
    assert.ok(read >= CACHED_TOKENS_MIN, `${read} tokens`);
    assert.equal(usage.cache_creation_input_tokens, 0);
    assert.equal(usage.input_tokens, total - read);
  });

  test('is not reported for a request without a mark', async () => {
    const details = await requestDetails('And boxes of kind 11?', false);
    assert.ok(!('cache_type' in details));
    assert.equal(details.cache_creation_input_tokens, 0);
  });

  async function requestDetails(content: string, isMarked: boolean): Promise<CacheDetails> {
    const mark = isMarked ? { cache_control: { type: 'ephemeral' } } : {};
    const { usage } = await openai.client.chat.completions.create({
      model: MODEL,
      messages: [
        { role: 'system', content: [{ type: 'text', text: RULES.join('\n'), ...mark }] },
        { role: 'user', content },
      ],
      temperature: 0,
      max_tokens: 4,
    });
    return usage?.prompt_tokens_details ?? assert.fail('no details');
  }
});

/** Prompt token details with counters of Alibaba Cloud, which the types of the client do not have. */
interface CacheDetails {
  readonly cached_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_creation?: { readonly ephemeral_5m_input_tokens: number };
  readonly cache_type?: string;
}
