import type { EngineEvent } from '../core/event.ts';
import { createBatchQueue } from '../lib/batch-queue.ts';
import { UNREAD_ANSWER_CHARS_MAX } from './limits.ts';

type Batch = readonly EngineEvent[];

/** Characters that stand for the other fields of an event, and for an alternative token. */
const EVENT_CHARS = 100;

/**
 * Reads an answer of a server before its reader takes it, up to UNREAD_ANSWER_CHARS_MAX: so the server has finished the answer,
 * and can work on the next one, however slowly its reader reads. Starts at once. Does not wait for the end of `source` when
 * the reader leaves.
 */
export function readAhead(source: AsyncIterable<Batch>): AsyncIterable<Batch> {
  const iterator = source[Symbol.asyncIterator]();
  let resume: (() => void) | undefined;
  const queue = createBatchQueue<EngineEvent>({
    waitingMax: UNREAD_ANSWER_CHARS_MAX,
    getSize,
    onDrain: () => resume?.(),
    // An error of the source concerns nobody anymore.
    onReaderLeft: () => void iterator.return?.().catch(() => undefined),
  });
  const readAll = async (): Promise<void> => {
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      let hasCapacity = true;
      for (const event of next.value) hasCapacity = queue.push(event);
      if (!hasCapacity) await new Promise<void>((resolve) => (resume = resolve));
    }
  };
  readAll().then(queue.end, queue.fail);
  return queue;
}

function getSize(event: EngineEvent): number {
  const text = 'text' in event ? event.text.length : 0;
  const logprobs = 'logprobs' in event ? (event.logprobs ?? []) : [];
  return logprobs.reduce((size, { top }) => size + EVENT_CHARS * (1 + top.length), EVENT_CHARS + text);
}
