import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import {
  createEncryptionKey,
  DamagedObjectError,
  decryptObject,
  encryptObject,
  getEncryptedBytes,
  openEncryptionKey,
  type EncryptionKey,
} from './encryption.ts';
import { ENCRYPTED_CHUNK_BYTES } from './limits.ts';

const SECRET = Buffer.from('correct horse battery staple');
const SIZES = [0, 1, ENCRYPTED_CHUNK_BYTES - 1, ENCRYPTED_CHUNK_BYTES, ENCRYPTED_CHUNK_BYTES + 1, 200_000];

async function* splitInto(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of source) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('encryption of backups', () => {
  let key: EncryptionKey;
  before(async () => {
    key = await createEncryptionKey(SECRET);
  });
  const encrypt = (bytes: Uint8Array, name = 'a') => collect(encryptObject(key, name, splitInto(bytes, 10_007)));
  const decrypt = (bytes: Uint8Array, name = 'a') => collect(decryptObject(key, name, splitInto(bytes, 9_973)));

  it('returns what was encrypted, and predicts its size', async () => {
    for (const size of SIZES) {
      const bytes = randomBytes(size);
      const encrypted = await encrypt(bytes);
      assert.equal(encrypted.length, getEncryptedBytes(size));
      assert.ok((await decrypt(encrypted)).equals(bytes), String(size));
    }
  });

  it('detects a changed byte anywhere, a cut anywhere, added bytes, and another name', async () => {
    const encrypted = await encrypt(randomBytes(ENCRYPTED_CHUNK_BYTES + 100));
    for (const at of [0, 20, 41, ENCRYPTED_CHUNK_BYTES, encrypted.length - 1]) {
      const changed = Buffer.from(encrypted);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await assert.rejects(decrypt(changed), DamagedObjectError, `byte ${at}`);
    }
    // One cut is exactly after a chunk.
    const chunkEnd = 40 + ENCRYPTED_CHUNK_BYTES + 16;
    for (const length of [0, 39, 40, 41, chunkEnd, encrypted.length - 1])
      await assert.rejects(decrypt(encrypted.subarray(0, length)), DamagedObjectError, `cut to ${length}`);
    await assert.rejects(decrypt(Buffer.concat([encrypted, Buffer.from('x')])), DamagedObjectError);
    await assert.rejects(decrypt(encrypted, 'b'), DamagedObjectError);
  });

  it('opens with the same secret only', async () => {
    const encrypted = await encrypt(Buffer.from('text'));
    const again = await openEncryptionKey(SECRET, key.parameters);
    assert.equal(String(await collect(decryptObject(again, 'a', splitInto(encrypted, 100)))), 'text');
    await assert.rejects(
      openEncryptionKey(Buffer.from('wrong horse battery staple'), key.parameters),
      /not that of these/,
    );
    await assert.rejects(createEncryptionKey(Buffer.from('short')), /must have 12 to/);
  });
});
