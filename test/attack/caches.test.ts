import assert from 'node:assert/strict';
import { getWeightsSkipReason } from '../models-folder.ts';
import { sendAsAttacker } from './attacker-request.ts';
import { type AttackTarget, describeAttacks } from './harness.ts';

// Explicit caches: prefixes of prompts that requests mark. With a real model, because the scripted engine has no cache.

/** The others' calls need a free sequence, and processor time beside the evaluation of long prompts. */
const OPTIONS = { engine: 'llama', sequences: 4, withTinyModel: true } as const;

/** Requests of the attacker, each with as many marks as it may have. */
const REQUESTS = 3;
const MARKS = 4;

interface CacheUsage {
  readonly cached_tokens: number;
  readonly cache_creation_input_tokens?: number;
}

/** Asks with a system prompt of about 1,150 tokens, whose parts are marked. */
async function ask(target: AttackTarget, key: string, name: string): Promise<CacheUsage> {
  const rules = Array.from({ length: 62 }, (_, index) => `Rule ${index}: shelf ${index} holds only boxes of ${name}.`);
  const parts = [rules.join('\n'), ...Array.from({ length: MARKS - 1 }, (_, index) => ` Also rule ${name} ${index}.`)];
  const content = parts.map((text) => ({ type: 'text', text, cache_control: { type: 'ephemeral' } }));
  const messages = [
    { role: 'system', content },
    { role: 'user', content: 'Which shelf?' },
  ];
  const body = JSON.stringify({ model: 'svc-plus', max_tokens: 1, messages });
  const { status, text } = await sendAsAttacker(target, { path: '/v1/chat/completions', key, body });
  assert.equal(status, 200, text);
  const { usage } = JSON.parse(text) as { usage: { prompt_tokens_details: CacheUsage } };
  return usage.prompt_tokens_details;
}

describeAttacks('attacks on explicit caches', { ...OPTIONS, skip: getWeightsSkipReason('svc-tiny') }, [
  {
    name: '3 prompts of 1,150 tokens with 4 marked prefixes each, which another workspace has cached before',
    async run(target) {
      const otherKey = await target.createKey('--workspace', 'cached');
      const first = await ask(target, otherKey, 'kind 0');
      assert.ok((first.cache_creation_input_tokens ?? 0) >= 1024, JSON.stringify(first));
      for (let index = 0; index < REQUESTS; index += 1) {
        // The same prefix as that of the other workspace, then others.
        const { cached_tokens: cachedTokens } = await ask(target, target.key, `kind ${index}`);
        assert.equal(cachedTokens, 0, 'prefixes of another workspace are not found');
      }
      const again = await ask(target, otherKey, 'kind 0');
      assert.ok(again.cached_tokens >= 1024, 'the entries of the other workspace are still there');
    },
  },
]);
