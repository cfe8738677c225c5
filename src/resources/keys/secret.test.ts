import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { hashSecret, getSecretHint, isSameHash, isSecretFormat, createSecret } from './secret.ts';

describe('key secrets', () => {
  it('creates sk- and 48 letters and digits, different each time', () => {
    const secrets = new Set(Array.from({ length: 200 }, () => createSecret(randomBytes)));
    assert.equal(secrets.size, 200);
    for (const secret of secrets) assert.ok(isSecretFormat(secret), secret);
  });

  it('skips bytes that would make some characters more likely', () => {
    const bytes = [255, 248, 0, 251, 61, 62, 247, 252];
    const repeated = (size: number) => Uint8Array.from({ length: size }, (_, index) => bytes[index % 8] ?? 0);
    assert.match(createSecret(repeated), /^sk-(0z0z){12}$/);
  });

  it('uses the last four characters as the hint and compares hashes', () => {
    const secret = createSecret(randomBytes);
    assert.equal(getSecretHint(secret), secret.slice(-4));
    assert.match(hashSecret(secret), /^[0-9a-f]{64}$/);
    assert.equal(hashSecret('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    assert.ok(isSameHash(hashSecret(secret), hashSecret(secret)));
    assert.ok(!isSameHash(hashSecret(secret), hashSecret('abc')));
    assert.ok(!isSameHash(hashSecret(secret), ''));
  });
});
