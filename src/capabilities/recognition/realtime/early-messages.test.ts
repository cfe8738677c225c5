import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEarlyMessages } from './early-messages.ts';
import { REALTIME_AUDIO_BYTES_MAX } from './limits.ts';

function createTestQueue() {
  const calls: string[] = [];
  const queue = createEarlyMessages({
    pauseReading: () => void calls.push('pause'),
    resumeReading: () => void calls.push('resume'),
  });
  const push = (name: string, bytes: number) => queue.push(() => void calls.push(name), bytes);
  return { calls, queue, push };
}

test('handles the messages in order, without a pause of reading when they are few', () => {
  const { calls, queue, push } = createTestQueue();
  push('first', 10);
  push('second', 10);
  queue.handleAll();
  assert.deepEqual(calls, ['first', 'second']);
});

test('pauses reading once when it is full, and resumes it before the messages are handled', () => {
  const { calls, queue, push } = createTestQueue();
  push('first', REALTIME_AUDIO_BYTES_MAX);
  push('second', 1);
  queue.handleAll();
  assert.deepEqual(calls, ['pause', 'resume', 'first', 'second']);
});
