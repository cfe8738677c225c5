import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { createResponseStreamEncoder } from './stream.ts';

const head = { id: 'resp_0', created: 1, model: 'm', requestFields: { tools: [] } };
const ERROR = new ServiceError('overloaded', 'Busy.');

test('a stream that fails before its first event starts with the response, so that clients know what failed', () => {
  const text = createResponseStreamEncoder(head).fail(ERROR);
  const frames = createSseParser({ sizeMax: 1_000_000 }).push(text);
  assert.deepEqual(
    frames.map(({ event, id }) => [event, id]),
    [
      ['response.created', '1'],
      ['response.in_progress', '2'],
      ['response.failed', '3'],
    ],
  );
  assert.match(text, /event:response\.failed\n:HTTP_STATUS\/503\n/);
});

test('a stream that fails later contains the start events once', () => {
  const encoder = createResponseStreamEncoder(head);
  const firstFrames = encoder.push([{ type: 'start', inputTokens: 1, cachedTokens: 0 }]);
  const parsedFrames = createSseParser({ sizeMax: 1_000_000 }).push(firstFrames + encoder.fail(ERROR));
  assert.deepEqual(
    parsedFrames.map(({ event }) => event),
    ['response.created', 'response.in_progress', 'response.failed'],
  );
});
