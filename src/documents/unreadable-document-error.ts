/** A document that cannot be read. Its message reaches the caller and continues the sentence `The file …`. */
export class UnreadableDocumentError extends Error {
  override readonly name = 'UnreadableDocumentError';
}

export const createPasswordError = (): UnreadableDocumentError =>
  new UnreadableDocumentError('is protected by a password');

export const createNoMainPartError = (): UnreadableDocumentError =>
  new UnreadableDocumentError('is damaged: it has no main part');
