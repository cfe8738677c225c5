/** Base address of one server. */
export interface ServerAddress {
  /** Host and port, for Parley's log. */
  readonly host: string;
  /** Secret parts of the base address in all encodings: user, password and the values of its query. */
  readonly secrets: readonly string[];
  /**
   * Returns the URL of a path of this server, with the query of the base address.
   * @param path Relative (`chat/completions`): below the base address. With a leading slash (`/health`): below the base
   *   address without its version, so `http://host/v1` gives `http://host/health`.
   */
  resolveUrl(path: string): URL;
}

/** @param base http or https, mostly ending in a version (`/v1`). @throws TypeError if it is no URL. */
export function createServerAddress(base: string): ServerAddress {
  // The runtime's own error would quote the whole address, which may hold a password.
  if (!URL.canParse(base)) throw new TypeError('the upstream address must be a URL such as http://host:8000/v1');
  const baseUrl = new URL(base);
  const basePath = baseUrl.pathname.replace(/\/+$/, '');
  const rootPath = basePath.replace(/\/v\d+[a-z\d]*$/, '');
  const resolvedUrls = new Map<string, URL>();
  return {
    host: baseUrl.host,
    secrets: collectSecrets(baseUrl),
    resolveUrl(path) {
      const cached = resolvedUrls.get(path);
      if (cached) return cached;
      const resolved = new URL(baseUrl);
      resolved.pathname = path.startsWith('/') ? `${rootPath}${path}` : `${basePath}/${path}`;
      resolvedUrls.set(path, resolved);
      return resolved;
    },
  };
}

function collectSecrets(url: URL): string[] {
  const { username, password } = url;
  const credentials = `${tryDecode(username)}:${tryDecode(password)}`;
  // Not URLSearchParams, which reads a plus sign as a blank.
  const values = url.search
    .slice(1)
    .split('&')
    .map((part) => part.slice(part.indexOf('=') + 1));
  const secretTexts = [username, password, ...values].flatMap((text) => [
    text,
    tryDecode(text),
    tryDecode(text.replaceAll('+', ' ')),
    encodeURIComponent(tryDecode(text)),
  ]);
  const basicCredentials = username === '' && password === '' ? [] : [Buffer.from(credentials).toString('base64')];
  return [...new Set([...secretTexts, ...basicCredentials])].filter((text) => text !== '');
}

function tryDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
