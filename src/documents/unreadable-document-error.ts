/** A document that cannot be read. Its message reaches the caller and continues the sentence `The file …`. */
export class UnreadableDocumentError extends Error {
  override readonly name = 'UnreadableDocumentError';
}
