import { createHash } from 'node:crypto';

/** Length of the digest, sufficient to recognize texts of other services. */
const DIGEST_BYTES = 12;

/**
 * Encodes a text that clients send back unread. The encoding hides nothing; its digest proves that Parley made it and
 * that it is unchanged.
 */
export const sealText = (text: string): string =>
  Buffer.concat([computeDigest(text), Buffer.from(text, 'utf8')]).toString('base64url');

/** Decodes the text; undefined if it was changed or made by another service. */
export function unsealText(sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  const text = bytes.subarray(DIGEST_BYTES).toString('utf8');
  return bytes.length >= DIGEST_BYTES && computeDigest(text).equals(bytes.subarray(0, DIGEST_BYTES)) ? text : undefined;
}

const computeDigest = (text: string): Buffer =>
  createHash('sha256').update('parley').update(text).digest().subarray(0, DIGEST_BYTES);
