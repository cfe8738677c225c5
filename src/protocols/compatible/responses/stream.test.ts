import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { responseStream } from './stream.ts';

const head = { id: 'resp_0', created: 1, model: 'm', asked: { tools: [] } };
const ERROR = new ServiceError('overloaded', 'Busy.');

test('an answer that fails before its first event begins all the same: clients want to know what has failed', () => {
  const text = responseStream(head).fail(ERROR);
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

test('an answer that fails later has one beginning', () => {
  const encoder = responseStream(head);
  const begun = encoder.push([{ type: 'start', inputTokens: 1, cachedTokens: 0 }]);
  const told = createSseParser({ sizeMax: 1_000_000 }).push(begun + encoder.fail(ERROR));
  assert.deepEqual(
    told.map(({ event }) => event),
    ['response.created', 'response.in_progress', 'response.failed'],
  );
});
