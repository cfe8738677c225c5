import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GenerationEvent } from '../../../core/event.ts';
import { ServiceError } from '../../../core/error.ts';
import { keptTurn } from './kept-turn.ts';

const START: GenerationEvent = { type: 'start', inputTokens: 1, cachedTokens: 0 };
const END: readonly GenerationEvent[] = [
  { type: 'choice-end', choice: 0, reason: 'stop' },
  { type: 'end', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 0 } },
];
const RESPONSE = { id: 'resp_1', status: 'completed', output: [] } as const;

/** A turn that notes what becomes of it, and keeps only when it is let. */
function noted(batches: readonly (readonly GenerationEvent[] | ServiceError)[]) {
  const notes: string[] = [];
  let let_: ((error?: Error) => void) | undefined;
  const kept = new Promise<void>((resolve, reject) => {
    let_ = (error) => (error ? reject(error) : resolve());
  });
  async function* source(): AsyncGenerator<readonly GenerationEvent[]> {
    try {
      for (const batch of batches) {
        if (batch instanceof ServiceError) throw batch;
        yield batch;
      }
    } finally {
      notes.push('over');
    }
  }
  const events = keptTurn(source(), {
    turn: { abandon: async () => void notes.push('abandoned') },
    async keep() {
      notes.push('keeping');
      await kept;
      notes.push('kept');
      return RESPONSE;
    },
  });
  return { notes, reader: events[Symbol.asyncIterator](), letKeep: (error?: Error) => let_?.(error) };
}

describe('a turn', () => {
  test('is kept before its end is told', async () => {
    const { notes, reader, letKeep } = noted([[START], END]);
    assert.deepEqual(await reader.next(), { done: false, value: [START] });
    let isTold = false;
    const last = reader.next().then((step) => {
      isTold = true;
      return step;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([isTold, notes], [false, ['keeping']]);
    letKeep();
    assert.deepEqual((await last).value, [END[0], { type: 'response-end', response: RESPONSE }]);
    assert.equal((await reader.next()).done, true);
    assert.deepEqual(notes, ['keeping', 'kept', 'over']);
  });

  test('that cannot be kept is abandoned, and its end is not told', async () => {
    const { notes, reader, letKeep } = noted([[START], END]);
    await reader.next();
    letKeep(new ServiceError('conflict', 'Taken over.'));
    await assert.rejects(reader.next(), { kind: 'conflict' });
    assert.deepEqual(notes, ['keeping', 'abandoned']);
  });

  test('that breaks off is abandoned', async () => {
    const { notes, reader } = noted([[START], new ServiceError('engine-failed', '')]);
    await reader.next();
    await assert.rejects(reader.next(), { kind: 'engine-failed' });
    assert.deepEqual(notes, ['over', 'abandoned']);
  });

  test('that stops without an end is abandoned and no success', async () => {
    const { notes, reader } = noted([[START]]);
    await reader.next();
    await assert.rejects(reader.next(), { kind: 'engine-failed' });
    assert.deepEqual(notes, ['over', 'abandoned']);
  });

  test('that nobody reads on is abandoned when its work is over, also when its end comes meanwhile', async () => {
    const { notes, reader } = noted([[START], END]);
    await reader.next();
    const last = reader.next();
    await reader.return?.();
    assert.equal((await last).done, true);
    assert.deepEqual(notes, ['over', 'abandoned']);
  });
});
