import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { hashOf, hintOf, isSameHash, isSecret, newSecret } from './secret.ts';

describe('secrets', () => {
  it('has 48 letters and digits after sk-, different each time', () => {
    const secrets = new Set(Array.from({ length: 200 }, () => newSecret(randomBytes)));
    assert.equal(secrets.size, 200);
    for (const secret of secrets) assert.ok(isSecret(secret), secret);
  });

  it('passes over the bytes that would make some characters more likely', () => {
    const bytes = [255, 248, 0, 251, 61, 62, 247, 252];
    const repeated = (size: number) => Uint8Array.from({ length: size }, (_, index) => bytes[index % 8] ?? 0);
    assert.match(newSecret(repeated), /^sk-(0z0z){12}$/);
  });

  it('shows four characters as a hint and compares hashes whole', () => {
    const secret = newSecret(randomBytes);
    assert.equal(hintOf(secret), secret.slice(-4));
    assert.match(hashOf(secret), /^[0-9a-f]{64}$/);
    assert.equal(hashOf('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    assert.ok(isSameHash(hashOf(secret), hashOf(secret)));
    assert.ok(!isSameHash(hashOf(secret), hashOf('abc')));
    assert.ok(!isSameHash(hashOf(secret), ''));
  });
});
