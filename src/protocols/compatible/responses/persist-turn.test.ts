import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GenerationEvent } from '../../../core/event.ts';
import { ServiceError } from '../../../core/error.ts';
import { persistTurn } from './persist-turn.ts';

const START: GenerationEvent = { type: 'start', inputTokens: 1, cachedTokens: 0 };
const END: readonly GenerationEvent[] = [
  { type: 'choice-end', choice: 0, reason: 'stop' },
  { type: 'end', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 0 } },
];
const RESPONSE = { id: 'resp_1', status: 'completed', output: [] } as const;

/** Creates a turn that records its calls, and is persisted only when `letKeep` is called. */
function createRecordedTurn(batches: readonly (readonly GenerationEvent[] | ServiceError)[]) {
  const notes: string[] = [];
  let settle: ((error?: Error) => void) | undefined;
  const persisted = new Promise<void>((resolve, reject) => {
    settle = (error) => (error ? reject(error) : resolve());
  });
  async function* source(): AsyncGenerator<readonly GenerationEvent[]> {
    try {
      for (const batch of batches) {
        if (batch instanceof ServiceError) throw batch;
        yield batch;
      }
    } finally {
      notes.push('closed');
    }
  }
  const events = persistTurn(source(), {
    turn: { abandon: async () => void notes.push('abandoned') },
    async storeTurn() {
      notes.push('keeping');
      await persisted;
      notes.push('kept');
      return RESPONSE;
    },
  });
  return { notes, reader: events[Symbol.asyncIterator](), letKeep: (error?: Error) => settle?.(error) };
}

describe('persistTurn', () => {
  test('stores a turn before its last event is delivered', async () => {
    const { notes, reader, letKeep } = createRecordedTurn([[START], END]);
    assert.deepEqual(await reader.next(), { done: false, value: [START] });
    let isDelivered = false;
    const last = reader.next().then((step) => {
      isDelivered = true;
      return step;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([isDelivered, notes], [false, ['keeping']]);
    letKeep();
    assert.deepEqual((await last).value, [END[0], { type: 'response-end', response: RESPONSE }]);
    assert.equal((await reader.next()).done, true);
    assert.deepEqual(notes, ['keeping', 'kept', 'closed']);
  });

  test('abandons a turn that cannot be stored and does not deliver its end', async () => {
    const { notes, reader, letKeep } = createRecordedTurn([[START], END]);
    await reader.next();
    letKeep(new ServiceError('conflict', 'Taken over.'));
    await assert.rejects(reader.next(), { kind: 'conflict' });
    assert.deepEqual(notes, ['keeping', 'abandoned']);
  });

  test('abandons a turn whose generation fails', async () => {
    const { notes, reader } = createRecordedTurn([[START], new ServiceError('engine-failed', '')]);
    await reader.next();
    await assert.rejects(reader.next(), { kind: 'engine-failed' });
    assert.deepEqual(notes, ['closed', 'abandoned']);
  });

  test('abandons a turn whose generation stops without an end, and fails', async () => {
    const { notes, reader } = createRecordedTurn([[START]]);
    await reader.next();
    await assert.rejects(reader.next(), { kind: 'engine-failed' });
    assert.deepEqual(notes, ['closed', 'abandoned']);
  });

  test('abandons a turn whose reader left once its generation is closed, even if its end arrives meanwhile', async () => {
    const { notes, reader } = createRecordedTurn([[START], END]);
    await reader.next();
    const last = reader.next();
    await reader.return?.();
    assert.equal((await last).done, true);
    assert.deepEqual(notes, ['closed', 'abandoned']);
  });
});
