import { createHash } from 'node:crypto';

/** Bytes of the digest: enough that no text of others is taken for one of ours. */
const DIGEST_BYTES = 12;

/**
 * A text as the clients of this interface carry it back without looking into it. It hides nothing; the digest says that it is
 * whole and of our making.
 */
export const sealText = (text: string): string =>
  Buffer.concat([digestOf(text), Buffer.from(text, 'utf8')]).toString('base64url');

/** The text; undefined for what another service sealed, or somebody changed. */
export function unsealText(sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  const text = bytes.subarray(DIGEST_BYTES).toString('utf8');
  return bytes.length >= DIGEST_BYTES && digestOf(text).equals(bytes.subarray(0, DIGEST_BYTES)) ? text : undefined;
}

const digestOf = (text: string): Buffer =>
  createHash('sha256').update('parley').update(text).digest().subarray(0, DIGEST_BYTES);
