/** What an answer names where a document has no address: its collection and its path in it, and nothing of this machine. */
export const referenceUrl = (collection: string, reference: string): string =>
  `parley-index:${[collection, ...reference.split('/')].map((part) => encodeURIComponent(part.toWellFormed())).join('/')}`;
