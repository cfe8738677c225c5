/** Creates the URL of a document without one: its collection and its path within it, without any local path. */
export const createReferenceUrl = (collection: string, reference: string): string =>
  `parley-index:${[collection, ...reference.split('/')].map((part) => encodeURIComponent(part.toWellFormed())).join('/')}`;
