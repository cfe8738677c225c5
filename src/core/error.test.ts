import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from './error.ts';

test('a lack of file descriptors is a refusal that passes, also as the cause of another error', () => {
  for (const code of ['EMFILE', 'ENFILE']) {
    const shortage = Object.assign(new Error(`${code}: too many open files`), { code });
    for (const thrown of [shortage, new Error('cannot store the file', { cause: shortage })]) {
      const { kind, retryAfterSeconds, cause } = ServiceError.from(thrown);
      assert.deepEqual([kind, typeof retryAfterSeconds, cause], ['overloaded', 'number', thrown]);
    }
  }
  assert.equal(ServiceError.from(Object.assign(new Error('no entry'), { code: 'ENOENT' })).kind, 'internal');
});
