import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Usage } from '../../src/core/event.ts';
import type { EngineRequest } from '../../src/engines/engine.ts';
import { runToEnd, createEngineRequest } from '../contracts/engine-contract.ts';
import { openTestLlama, SEQUENCES } from './test-llama.ts';
import type { TestLlama } from './test-llama.ts';
import { getWeightsFileSkipReason, TINY } from './weights.ts';

const LONG = Array.from({ length: 560 }, (_, i) => `word${i % 10}`).join(' ');
const SEEDED = { sampling: { temperature: 1, seed: 7 } };
const OWNER = { workspace: 'mine', key: 'k' };

describe('an explicit cache on a real model', { skip: getWeightsFileSkipReason(TINY) }, () => {
  let llama: TestLlama;
  /** Number of prompt tokens that the first request wrote to the cache. */
  let cachedTokens = 0;
  let firstText = '';
  before(async () => {
    llama = await openTestLlama(TINY);
  });
  after(() => llama.close());

  const createRequest = (question: string, more: Partial<EngineRequest> = {}): EngineRequest =>
    createEngineRequest('', {
      input: {
        type: 'segments',
        segments: [
          { text: LONG, special: false, cacheMark: true },
          { text: question, special: false },
        ],
      },
      owner: OWNER,
      maxTokens: 8,
      ...more,
    });

  const ask = async (question: string, more?: Partial<EngineRequest>): Promise<{ text: string; usage: Usage }> => {
    const { text, events } = await runToEnd(llama.engine, createRequest(question, more));
    const last = events.at(-1);
    assert.ok(last?.type === 'end');
    return { text, usage: last.usage };
  };

  /** Fills all sequences with prompts of another workspace. */
  const reuseAllSequences = (): Promise<unknown> =>
    Promise.all(
      Array.from({ length: SEQUENCES }, (_, i) =>
        runToEnd(llama.engine, createEngineRequest(`${i}`, { owner: { workspace: 'other', key: 'k' }, maxTokens: 2 })),
      ),
    );

  const listPrefixFiles = async (): Promise<string[]> => {
    const [processFolder = ''] = await readdir(llama.runFolder);
    const folder = join(llama.runFolder, processFolder, 'states', 'prefixes');
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    return (await readdir(folder)).map((name) => join(folder, name));
  };

  it('is written at the end of the marked text, to a file that only its owner may read', async () => {
    const { text, usage } = await ask(' and then', SEEDED);
    firstText = text;
    cachedTokens = usage.cacheCreationTokens ?? 0;
    assert.ok(
      cachedTokens >= 1_024 && cachedTokens <= usage.promptTokens - 2,
      `${cachedTokens} of ${usage.promptTokens}`,
    );
    assert.deepEqual([usage.cachedTokens, usage.usesExplicitCache], [0, true]);
    const [file = '', ...others] = await listPrefixFiles();
    assert.equal(others.length, 0);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  it('is hit after its sequence was reused, with the same seeded answer', async () => {
    await reuseAllSequences();
    const { text, usage } = await ask(' and then', SEEDED);
    assert.equal(text, firstText);
    assert.deepEqual([usage.cachedTokens, usage.cacheCreationTokens, usage.usesExplicitCache], [cachedTokens, 0, true]);
    await reuseAllSequences();
    const unseeded = await ask(' or else', { sampling: { temperature: 0 } });
    assert.equal(unseeded.usage.cachedTokens, cachedTokens);
    assert.equal((await listPrefixFiles()).length, 1);
  });

  it('is not found by another workspace', async () => {
    const caller = new AbortController();
    const other = createRequest(' and then', { owner: { workspace: 'other', key: 'k' } });
    const { cachedTokens, batches } = await llama.engine.start(other, caller.signal);
    assert.equal(cachedTokens, 0);
    caller.abort();
    await assert.rejects(Array.fromAsync(batches), { kind: 'cancelled' });
  });

  it('does not outlive the process', async () => {
    assert.equal((await listPrefixFiles()).length, 1);
    llama.kill();
    await runToEnd(llama.engine, createEngineRequest('x', { maxTokens: 1 }));
    assert.equal((await listPrefixFiles()).length, 0);
  });
});
