/** Where the calls of one server go. */
export interface Address {
  /** Host and port, for our log. */
  readonly host: string;
  /**
   * @param path `chat/completions` stands below the base address; with a slash before it (`/health`) it stands beside
   * the base address's version, where servers keep what is not of the format: below `http://host/v1` that is
   * `http://host/health`. The base address's query stays.
   */
  of(path: string): URL;
}

/** @param base http or https, mostly ending in a version (`/v1`). @throws TypeError for what is no address. */
export function createAddress(base: string): Address {
  const url = new URL(base);
  const below = url.pathname.replace(/\/+$/, '');
  const beside = below.replace(/\/v\d+[a-z\d]*$/, '');
  const known = new Map<string, URL>();
  return {
    host: url.host,
    of(path) {
      const found = known.get(path);
      if (found) return found;
      const made = new URL(url);
      made.pathname = path.startsWith('/') ? `${beside}${path}` : `${below}/${path}`;
      known.set(path, made);
      return made;
    },
  };
}
