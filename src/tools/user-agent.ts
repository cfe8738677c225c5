/** Returns the User-Agent of requests to search services and pages. `contact`: a URL where their operators read more. */
export const createUserAgent = (contact?: string): string =>
  contact === undefined ? 'Parley' : `Parley (+${contact})`;
