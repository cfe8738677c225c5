/** An http(s) address without user and password, resolved where it is relative; undefined for all else. */
export function webAddress(text: string | null | undefined, charsMax: number, base?: string): string | undefined {
  if (text === null || text === undefined || text === '' || text.length > charsMax) return undefined;
  const url = URL.parse(text.trim(), base);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  return url.href.length > charsMax ? undefined : url.href;
}

/** `www.` says nothing of whose site it is. */
export const siteOf = (url: URL): string => url.hostname.replace(/\.+$/, '').replace(/^www\./, '');
