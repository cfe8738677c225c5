import { createHash, type Hash } from 'node:crypto';

/** Version of the format of passages and terms. Changing it makes a refresh read all documents again. */
const INDEX_FORMAT = 'parley-index 1\n';

/** Creates the hash of a document's source content. */
export const createContentHash = (): Hash => createHash('sha256').update(INDEX_FORMAT);
