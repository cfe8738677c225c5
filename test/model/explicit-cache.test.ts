import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Usage } from '../../src/core/event.ts';
import type { EngineRequest } from '../../src/engines/engine.ts';
import { answerOf, engineRequest } from '../contracts/engine-contract.ts';
import { openLlama, SEQUENCES } from './llama.ts';
import type { Llama } from './llama.ts';
import { lacks, TINY } from './weights.ts';

const LONG = Array.from({ length: 560 }, (_, i) => `word${i % 10}`).join(' ');
const seeded = { sampling: { temperature: 1, seed: 7 } };
const mine = { workspace: 'mine', key: 'k' };

describe('an explicit cache on a real model', { skip: lacks(TINY) }, () => {
  let llama: Llama;
  /** Of the long beginning, as the first request wrote it. */
  let created = 0;
  let said = '';
  before(async () => {
    llama = await openLlama(TINY);
  });
  after(() => llama.close());

  const request = (question: string, more: Partial<EngineRequest> = {}): EngineRequest =>
    engineRequest('', {
      input: {
        type: 'segments',
        segments: [
          { text: LONG, special: false, cacheMark: true },
          { text: question, special: false },
        ],
      },
      owner: mine,
      maxTokens: 8,
      ...more,
    });

  const ask = async (question: string, more?: Partial<EngineRequest>): Promise<{ text: string; usage: Usage }> => {
    const { text, events } = await answerOf(llama.engine, request(question, more));
    const last = events.at(-1);
    assert.ok(last?.type === 'end');
    return { text, usage: last.usage };
  };

  /** Somebody else uses all sequences. */
  const overwrite = (): Promise<unknown> =>
    Promise.all(
      Array.from({ length: SEQUENCES }, (_, i) =>
        answerOf(llama.engine, engineRequest(`${i}`, { owner: { workspace: 'other', key: 'k' }, maxTokens: 2 })),
      ),
    );

  const files = async (): Promise<string[]> => {
    const [place = ''] = await readdir(llama.runFolder);
    const folder = join(llama.runFolder, place, 'states', 'prefixes');
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    return (await readdir(folder)).map((name) => join(folder, name));
  };

  it('is written where the marked text ends, to a file that nobody else may read', async () => {
    const { text, usage } = await ask(' and then', seeded);
    said = text;
    created = usage.cacheCreationTokens ?? 0;
    assert.ok(created >= 1_024 && created <= usage.promptTokens - 2, `${created} of ${usage.promptTokens}`);
    assert.deepEqual([usage.cachedTokens, usage.usesExplicitCache], [0, true]);
    const [file = '', ...others] = await files();
    assert.equal(others.length, 0);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  it('is hit when no live sequence holds it any more, and a seeded answer is the same to the last letter', async () => {
    await overwrite();
    const { text, usage } = await ask(' and then', seeded);
    assert.equal(text, said);
    assert.deepEqual([usage.cachedTokens, usage.cacheCreationTokens, usage.usesExplicitCache], [created, 0, true]);
    await overwrite();
    const unseeded = await ask(' or else', { sampling: { temperature: 0 } });
    assert.equal(unseeded.usage.cachedTokens, created);
    assert.equal((await files()).length, 1);
  });

  it('is not found by another workspace', async () => {
    const caller = new AbortController();
    const other = request(' and then', { owner: { workspace: 'other', key: 'k' } });
    const { cachedTokens, batches } = await llama.engine.start(other, caller.signal);
    assert.equal(cachedTokens, 0);
    caller.abort();
    await assert.rejects(Array.fromAsync(batches), { kind: 'cancelled' });
  });

  it('does not outlive the process', async () => {
    assert.equal((await files()).length, 1);
    llama.kill();
    await answerOf(llama.engine, engineRequest('x', { maxTokens: 1 }));
    assert.equal((await files()).length, 0);
  });
});
