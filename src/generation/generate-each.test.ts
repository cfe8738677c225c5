import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { GenerationEvent } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import { REQUEST } from './__fixtures__/house.ts';
import { collect } from './collect.ts';
import { generateEach } from './generate-each.ts';
import type { Generate } from './generation.ts';

const asking = (text: string): GenerationRequest => ({ ...REQUEST, prompt: { type: 'text', text }, choices: 2 });

/** Answers each choice with the prompt and its number; notes what begins and what ends. */
function createRoom() {
  const seen: string[] = [];
  const facts: Record<string, unknown>[] = [];
  const context: RequestContext = {
    requestId: 'r',
    owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
    signal: new AbortController().signal,
    log: { add: (each) => void facts.push(each), warn: () => undefined },
  };
  const generate: Generate = async ({ prompt, choices }, _, { log }) => {
    const name = prompt?.type === 'text' ? prompt.text : '';
    if (name === 'bad') throw new ServiceError('invalid-request', 'bad', { param: 'prompt' });
    seen.push(`start ${name}`);
    log.add({ model: 'm', promptTokens: 3 });
    const answer = (choice: number): readonly GenerationEvent[] => [
      { type: 'block-start', choice, index: 0, block: { type: 'text' } },
      { type: 'block-delta', choice, index: 0, text: `${name}${choice}` },
      { type: 'block-end', choice, index: 0 },
      { type: 'choice-end', choice, reason: 'stop' },
    ];
    const all: readonly (readonly GenerationEvent[])[] = [
      [{ type: 'start', inputTokens: 3, cachedTokens: 0 }],
      Array.from({ length: choices }, (__, choice) => answer(choice)).flat(),
      [{ type: 'end', usage: { promptTokens: 3, cachedTokens: 1, completionTokens: 2 } }],
    ];
    let at = 0;
    const batches = {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const value = all[at++];
          return value ? { done: false as const, value } : { done: true as const, value: undefined };
        },
        return: async () => {
          seen.push(`end ${name}`);
          return { done: true as const, value: undefined };
        },
      }),
    };
    return { batches, ignored: [name] };
  };
  return { seen, facts, context, generate };
}

const on = { interface: 'completions' } as const;

describe('several prompts as one request', () => {
  it('are answered one after another, their choices numbered on and their tokens added up', async () => {
    const { seen, facts, context, generate } = createRoom();
    const { batches, ignored } = await generateEach(generate, [asking('a'), asking('b')], on, context);
    assert.deepEqual(seen, ['start a']);
    const { choices, usage, inputTokens } = await collect(batches);
    assert.deepEqual(
      choices.map(({ blocks }) => blocks[0]?.text),
      ['a0', 'a1', 'b0', 'b1'],
    );
    assert.deepEqual(usage, { promptTokens: 6, cachedTokens: 2, completionTokens: 4 });
    assert.equal(inputTokens, 3);
    assert.deepEqual(ignored, ['a']);
    assert.deepEqual(facts.at(-1), { model: 'm', promptTokens: 6 });
  });

  it('tell one start and one end', async () => {
    const { context, generate } = createRoom();
    const { batches } = await generateEach(generate, [asking('a'), asking('b')], on, context);
    const events = (await Array.fromAsync(batches)).flat();
    for (const type of ['start', 'end']) assert.equal(events.filter((event) => event.type === type).length, 1, type);
    assert.equal(events.at(-1)?.type, 'end');
  });

  it('are refused where the first is, and break off where a later one is', async () => {
    const { seen, context, generate } = createRoom();
    await assert.rejects(generateEach(generate, [asking('bad'), asking('b')], on, context), { param: 'prompt' });
    assert.deepEqual(seen, []);
    const { batches } = await generateEach(generate, [asking('a'), asking('bad')], on, context);
    await assert.rejects(collect(batches), { param: 'prompt' });
  });

  it('end with the one that runs, and begin no other', async () => {
    const { seen, context, generate } = createRoom();
    const { batches } = await generateEach(generate, [asking('a'), asking('b')], on, context);
    const iterator = batches[Symbol.asyncIterator]();
    await iterator.return?.();
    assert.deepEqual(seen, ['start a', 'end a']);
    assert.equal((await iterator.next()).done, true);
  });

  it('are one where there is one', async () => {
    const { context, generate } = createRoom();
    const { batches } = await generateEach(generate, [asking('a')], on, context);
    assert.equal((await collect(batches)).choices.length, 2);
  });
});
