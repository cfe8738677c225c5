import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GenerationEvent, TokenLogprob } from '../core/event.ts';
import { collectResult } from './collect-result.ts';

const usage = { promptTokens: 3, cachedTokens: 1, completionTokens: 4 };
const token: TokenLogprob = { token: 'a', bytes: [97], logprob: -1, top: [] };

async function* cut(events: readonly GenerationEvent[], size: number): AsyncGenerator<readonly GenerationEvent[]> {
  for (let at = 0; at < events.length; at += size) yield events.slice(at, at + size);
}

const answer: readonly GenerationEvent[] = [
  { type: 'start', inputTokens: 3, cachedTokens: 1 },
  { type: 'block-start', choice: 1, index: 0, block: { type: 'text' } },
  { type: 'block-start', choice: 0, index: 0, block: { type: 'reasoning' } },
  { type: 'block-delta', choice: 1, index: 0, text: 'x', logprobs: [token] },
  { type: 'block-delta', choice: 0, index: 0, text: 'hm' },
  { type: 'block-end', choice: 0, index: 0 },
  { type: 'block-start', choice: 0, index: 1, block: { type: 'tool-call', id: 'call_1', name: 'f' } },
  { type: 'block-delta', choice: 0, index: 1, text: '{"a":' },
  { type: 'block-delta', choice: 0, index: 1, text: '1}' },
  { type: 'block-end', choice: 0, index: 1 },
  { type: 'block-end', choice: 1, index: 0 },
  { type: 'choice-end', choice: 1, reason: 'stop', stop: '###' },
  { type: 'choice-end', choice: 0, reason: 'tool-calls' },
  { type: 'end', usage },
];

test('collectResult returns the same result however the stream is split', async () => {
  for (const size of [1, 2, 5, 100]) {
    assert.deepEqual(await collectResult(cut(answer, size)), {
      inputTokens: 3,
      choices: [
        {
          blocks: [
            { type: 'reasoning', text: 'hm', logprobs: [] },
            { type: 'tool-call', id: 'call_1', name: 'f', text: '{"a":1}', logprobs: [] },
          ],
          reason: 'tool-calls',
        },
        { blocks: [{ type: 'text', text: 'x', logprobs: [token] }], reason: 'stop', stop: '###' },
      ],
      usage,
    });
  }
});

test('collectResult throws when the stream stops without its end event', async () => {
  await assert.rejects(collectResult(cut(answer.slice(0, -1), 4)), { kind: 'engine-failed' });
  await assert.rejects(collectResult(cut([], 1)), { kind: 'engine-failed' });
});
