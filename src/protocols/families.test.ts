import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_KINDS, INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';
import { FAMILIES, resolveFamily } from './families.ts';

const paths = [
  ['/api/v1/files', 'native'],
  ['/api/v9/nothing', 'native'],
  ['/api', 'native'],
  ['/api-ws/v1/inference', 'native'],
  ['/apps/anthropic/v1/messages', 'messages'],
  ['/apps/anthropic', 'messages'],
  ['/compatible-mode/v1/models', 'compatible'],
  ['/v1/models', 'compatible'],
  ['/api/v2/apps/protocols/compatible-mode/v1/responses', 'compatible'],
  ['/apis', 'compatible'],
  ['/', 'compatible'],
  ['/apps/anthropic?beta=true', 'messages'],
] as const;

for (const [path, family] of paths) {
  test(`resolves ${path} to the ${family} family`, () => assert.equal(resolveFamily(path), family));
}

test('every error kind has a status from 400 to 599, the same in all families except for file-not-found', () => {
  for (const kind of ERROR_KINDS) {
    const statuses = Object.values(FAMILIES).map((family) => family.getStatus(kind));
    assert.ok(statuses.every((status) => status >= 400 && status < 600));
    if (kind !== 'file-not-found') assert.equal(new Set(statuses).size, 1, kind);
  }
});

test('a message can replace the prescribed text', () => {
  const error = new ServiceError('unauthenticated', 'No API key was sent.', { replacesPrescribedText: true });
  for (const family of Object.values(FAMILIES)) {
    const body = JSON.stringify(family.encodeErrorBody(error, 'r'));
    assert.match(body, /"message":"No API key was sent\."/);
  }
});

test('a prescribed text comes first and only once', () => {
  const bare = new ServiceError('unauthenticated', '');
  const withMessage = new ServiceError('unauthenticated', 'No key was sent.');
  const internal = new ServiceError('internal', INTERNAL_MESSAGE);
  assert.deepEqual(FAMILIES.native.encodeErrorBody(bare, 'r'), {
    code: 'InvalidApiKey',
    message: 'Invalid API-key provided.',
    request_id: 'r',
  });
  assert.deepEqual(FAMILIES.compatible.encodeErrorBody(withMessage, 'r'), {
    error: {
      message: 'Incorrect API key provided. No key was sent.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_api_key',
    },
    request_id: 'r',
  });
  assert.deepEqual(FAMILIES.messages.encodeErrorBody(internal, 'r'), {
    type: 'error',
    error: { type: 'api_error', message: INTERNAL_MESSAGE },
    request_id: 'r',
  });
});

test('the native family encodes a wrong method and a too large body with the codes that clients know', () => {
  const getCode = (kind: 'method-not-allowed' | 'too-large'): unknown => {
    const body = FAMILIES.native.encodeErrorBody(new ServiceError(kind, 'x'), 'r') as { code: string };
    return [FAMILIES.native.getStatus(kind), body.code];
  };
  assert.deepEqual(getCode('method-not-allowed'), [405, 'InvalidParameter']);
  assert.deepEqual(getCode('too-large'), [413, 'BadRequest.TooLarge']);
});

test('an error body never contains the cause', () => {
  const error = ServiceError.from(new Error('password=hunter2 at /etc/secret'));
  for (const family of Object.values(FAMILIES)) {
    assert.ok(!JSON.stringify(family.encodeErrorBody(error, 'r')).includes('hunter2'));
  }
});
