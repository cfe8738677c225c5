import { createHash } from 'node:crypto';

/** Clients send a thought back only with a signature. Ours says which text it was given for; any is accepted back. */
export const signatureOf = (thought: string): string => createHash('sha256').update(thought).digest('base64');
