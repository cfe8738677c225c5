import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorCodec } from './error-codec.ts';
import { INTERNAL_MESSAGE, ServiceError } from './error.ts';

const cross = (thrown: unknown): ServiceError =>
  errorCodec.decode(JSON.parse(JSON.stringify(errorCodec.encode(thrown))));

test('a ServiceError keeps its fields across encoding, and its cause becomes a text', () => {
  const details = { param: 'model', retryAfterSeconds: 30, allow: ['GET'] };
  const { kind, message, param, retryAfterSeconds, allow, cause } = cross(
    new ServiceError('overloaded', 'Not now.', { ...details, cause: new TypeError('the disk is full') }),
  );
  assert.deepEqual(
    { kind, message, param, retryAfterSeconds, allow },
    { kind: 'overloaded', message: 'Not now.', ...details },
  );
  assert.match(String(cause), /the disk is full/);
  const plain = cross(new ServiceError('conflict', 'There is one.'));
  assert.deepEqual([plain.kind, plain.param, plain.cause], ['conflict', undefined, undefined]);
});

test('any other error becomes `internal` and keeps its reason for the log', () => {
  const error = cross(new RangeError('out of range'));
  assert.deepEqual([error.kind, error.message], ['internal', INTERNAL_MESSAGE]);
  assert.match(String(error.cause), /out of range/);
  assert.equal(errorCodec.decode(undefined).kind, 'internal');
  assert.equal(errorCodec.decode({ kind: 'unheard-of', message: 'x' }).kind, 'internal');
});
