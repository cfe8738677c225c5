import { hash, timingSafeEqual } from 'node:crypto';

/** Returns unpredictable bytes of the given number. A parameter, so that tests get known output. */
export type RandomSource = (size: number) => Uint8Array;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 285 bits; 261 remain when the hint is known, more than the promised 256. */
const SECRET_CHARACTERS = 48;
const HINT_CHARACTERS = 4;

/** Creates `sk-` followed by letters and digits, a format that log scrubbers and shells handle. */
export function createSecret(random: RandomSource): string {
  let secret = '';
  while (secret.length < SECRET_CHARACTERS) {
    for (const byte of random(SECRET_CHARACTERS)) {
      // 248 is the largest multiple of 62 in a byte; without this bound the first eight characters would be more
      // likely.
      if (byte < 248 && secret.length < SECRET_CHARACTERS) secret += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return `sk-${secret}`;
}

/** Returns whether the text has the format that `createSecret` produces. */
export const isSecretFormat = (text: string): boolean => /^sk-[0-9A-Za-z]{48}$/.test(text);

export const getSecretHint = (secret: string): string => secret.slice(-HINT_CHARACTERS);

/** SHA-256 in lower-case hex. A fast hash suffices for a secret that cannot be guessed. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'hex');

/** Compares two hashes in constant time. */
export const isSameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
