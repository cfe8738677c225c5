import { createHash, type Hash } from 'node:crypto';

/** Changes with what passages and terms are made like: documents of an earlier one are read again. */
const MADE_LIKE = 'parley-index 1\n';

/** Of what a document was read from. */
export const createContentHash = (): Hash => createHash('sha256').update(MADE_LIKE);
