import { hash, timingSafeEqual } from 'node:crypto';

/** Bytes of the given number, unpredictable. An argument, so that tests know what comes out. */
export type Random = (size: number) => Uint8Array;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 285 bits; 261 are left when the hint is known, which is above the 256 that are promised. */
const CHARACTERS = 48;
const HINT_CHARACTERS = 4;

/** `sk-` and letters and digits, as clients' log scrubbers and shells expect it. */
export function newSecret(random: Random): string {
  let text = '';
  while (text.length < CHARACTERS) {
    for (const byte of random(CHARACTERS)) {
      // 248 is the largest multiple of 62 in a byte: without this the first eight characters would come more often.
      if (byte < 248 && text.length < CHARACTERS) text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return `sk-${text}`;
}

/** Whether `newSecret` could have made it. */
export const isSecret = (text: string): boolean => /^sk-[0-9A-Za-z]{48}$/.test(text);

export const hintOf = (secret: string): string => secret.slice(-HINT_CHARACTERS);

/** SHA-256, lower-case hex. A plain hash is enough for a secret that nobody could guess. */
export const hashOf = (secret: string): string => hash('sha256', secret, 'hex');

/** Compares two hashes in a time that does not depend on where they differ. */
export const isSameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
