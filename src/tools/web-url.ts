/** Returns an absolute http(s) URL without user and password, resolved against `base`; undefined for other texts. */
export function parseWebUrl(text: string | null | undefined, charsMax: number, base?: string): string | undefined {
  if (text === null || text === undefined || text === '' || text.length > charsMax) return undefined;
  const url = URL.parse(text.trim(), base);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  return url.href.length > charsMax ? undefined : url.href;
}

/** Returns the host without a leading `www.`, which does not distinguish sites. */
export const getSite = (url: URL): string => url.hostname.replace(/\.+$/, '').replace(/^www\./, '');
