/** Where the calls of one server go. */
export interface Address {
  /** Host and port, for our log. */
  readonly host: string;
  /** What of the base address nobody may read: its user, its password and the values of its query, in all their forms. */
  readonly secrets: readonly string[];
  /**
   * @param path `chat/completions` stands below the base address; with a slash before it (`/health`) it stands beside
   * the base address's version, where servers keep what is not of the format: below `http://host/v1` that is
   * `http://host/health`. The base address's query stays.
   */
  of(path: string): URL;
}

/** @param base http or https, mostly ending in a version (`/v1`). @throws TypeError for what is no address. */
export function createAddress(base: string): Address {
  // By ourselves: the runtime's error holds the whole of it, and there may be a password in it.
  if (!URL.canParse(base)) throw new TypeError('this is no address');
  const url = new URL(base);
  const below = url.pathname.replace(/\/+$/, '');
  const beside = below.replace(/\/v\d+[a-z\d]*$/, '');
  const known = new Map<string, URL>();
  return {
    host: url.host,
    secrets: secretsOf(url),
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

function secretsOf(url: URL): string[] {
  const { username, password } = url;
  const pair = `${decoded(username)}:${decoded(password)}`;
  // As they stand in the address, and not as a form would read them: there a plus is a blank.
  const values = url.search
    .slice(1)
    .split('&')
    .map((part) => part.slice(part.indexOf('=') + 1));
  const found = [username, password, ...values].flatMap((text) => [
    text,
    decoded(text),
    decoded(text.replaceAll('+', ' ')),
    encodeURIComponent(decoded(text)),
  ]);
  const basic = username === '' && password === '' ? [] : [Buffer.from(pair).toString('base64')];
  return [...new Set([...found, ...basic])].filter((text) => text !== '');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
