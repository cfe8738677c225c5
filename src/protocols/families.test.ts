import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_KINDS, INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';
import { FAMILIES, familyOf } from './families.ts';

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
  test(`answers ${path} in the ${family} shape`, () => assert.equal(familyOf(path), family));
}

test('every kind has a status above 399 in every family, the same but for files and where a protocol says otherwise', () => {
  for (const kind of ERROR_KINDS) {
    const statuses = Object.values(FAMILIES).map((family) => family.status(kind));
    assert.ok(statuses.every((status) => status >= 400 && status < 600));
    if (kind !== 'file-not-found') assert.equal(new Set(statuses).size, 1, kind);
  }
});

test('a prescribed sentence comes first and only once', () => {
  const bare = new ServiceError('unauthenticated', '');
  const told = new ServiceError('unauthenticated', 'No key was sent.');
  const internal = new ServiceError('internal', INTERNAL_MESSAGE);
  assert.deepEqual(FAMILIES.native.errorBody(bare, 'r'), {
    code: 'InvalidApiKey',
    message: 'Invalid API-key provided.',
    request_id: 'r',
  });
  assert.deepEqual(FAMILIES.compatible.errorBody(told, 'r'), {
    error: {
      message: 'Incorrect API key provided. No key was sent.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_api_key',
    },
    request_id: 'r',
  });
  assert.deepEqual(FAMILIES.messages.errorBody(internal, 'r'), {
    type: 'error',
    error: { type: 'api_error', message: INTERNAL_MESSAGE },
    request_id: 'r',
  });
});

test('natively a wrong method and a body that is too large have the codes that clients know', () => {
  const codeOf = (kind: 'method-not-allowed' | 'too-large'): unknown => {
    const body = FAMILIES.native.errorBody(new ServiceError(kind, 'x'), 'r') as { code: string };
    return [FAMILIES.native.status(kind), body.code];
  };
  assert.deepEqual(codeOf('method-not-allowed'), [405, 'InvalidParameter']);
  assert.deepEqual(codeOf('too-large'), [413, 'BadRequest.TooLarge']);
});

test('a cause never reaches a body', () => {
  const error = ServiceError.from(new Error('password=hunter2 at /etc/secret'));
  for (const family of Object.values(FAMILIES)) {
    assert.ok(!JSON.stringify(family.errorBody(error, 'r')).includes('hunter2'));
  }
});
