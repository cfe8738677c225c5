import { createHash } from 'node:crypto';

/** Computes a signature, without which clients do not send thinking back. Any signature is accepted in requests. */
export const computeSignature = (thinking: string): string => createHash('sha256').update(thinking).digest('base64');
