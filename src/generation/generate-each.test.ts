import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { GenerationEvent } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import { REQUEST } from './__fixtures__/test-generation.ts';
import { collectResult } from './collect-result.ts';
import { generateEach } from './generate-each.ts';
import type { Generate } from './generation.ts';

const createRequest = (text: string): GenerationRequest => ({ ...REQUEST, prompt: { type: 'text', text }, choices: 2 });

/** Creates a fake generation that answers each choice with the prompt and the choice's number, and logs its runs. */
function createFakeGenerate() {
  const runLog: string[] = [];
  const logFields: Record<string, unknown>[] = [];
  const context: RequestContext = {
    requestId: 'r',
    owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
    signal: new AbortController().signal,
    log: { add: (each) => void logFields.push(each), warn: () => undefined },
  };
  const generate: Generate = async ({ prompt, choices }, _, { log }) => {
    const name = prompt?.type === 'text' ? prompt.text : '';
    if (name === 'bad') throw new ServiceError('invalid-request', 'bad', { param: 'prompt' });
    runLog.push(`start ${name}`);
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
          runLog.push(`end ${name}`);
          return { done: true as const, value: undefined };
        },
      }),
    };
    return { batches, ignored: [name] };
  };
  return { seen: runLog, fields: logFields, context, generate };
}

const on = { interface: 'completions' } as const;

describe('generateEach', () => {
  it('runs the requests one after another, numbers their choices consecutively and sums their tokens', async () => {
    const { seen, fields, context, generate } = createFakeGenerate();
    const { batches, ignored } = await generateEach(generate, [createRequest('a'), createRequest('b')], on, context);
    assert.deepEqual(seen, ['start a']);
    const { choices, usage, inputTokens } = await collectResult(batches);
    assert.deepEqual(
      choices.map(({ blocks }) => blocks[0]?.text),
      ['a0', 'a1', 'b0', 'b1'],
    );
    assert.deepEqual(usage, { promptTokens: 6, cachedTokens: 2, completionTokens: 4 });
    assert.equal(inputTokens, 3);
    assert.deepEqual(ignored, ['a']);
    assert.deepEqual(fields.at(-1), { model: 'm', promptTokens: 6 });
  });

  it('emits one start and one end event', async () => {
    const { context, generate } = createFakeGenerate();
    const { batches } = await generateEach(generate, [createRequest('a'), createRequest('b')], on, context);
    const events = (await Array.fromAsync(batches)).flat();
    for (const type of ['start', 'end']) assert.equal(events.filter((event) => event.type === type).length, 1, type);
    assert.equal(events.at(-1)?.type, 'end');
  });

  it('rejects when the first request is rejected and fails midway when a later one is', async () => {
    const { seen, context, generate } = createFakeGenerate();
    await assert.rejects(generateEach(generate, [createRequest('bad'), createRequest('b')], on, context), {
      param: 'prompt',
    });
    assert.deepEqual(seen, []);
    const { batches } = await generateEach(generate, [createRequest('a'), createRequest('bad')], on, context);
    await assert.rejects(collectResult(batches), { param: 'prompt' });
  });

  it('ends with the running request when its reader stops, and starts no other', async () => {
    const { seen, context, generate } = createFakeGenerate();
    const { batches } = await generateEach(generate, [createRequest('a'), createRequest('b')], on, context);
    const iterator = batches[Symbol.asyncIterator]();
    await iterator.return?.();
    assert.deepEqual(seen, ['start a', 'end a']);
    assert.equal((await iterator.next()).done, true);
  });

  it('runs a single request as it is', async () => {
    const { context, generate } = createFakeGenerate();
    const { batches } = await generateEach(generate, [createRequest('a')], on, context);
    assert.equal((await collectResult(batches)).choices.length, 2);
  });
});
