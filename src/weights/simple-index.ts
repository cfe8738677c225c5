/** A file that a package index offers. */
export interface IndexFile {
  readonly name: string;
  readonly url: string;
  readonly sha256: string | undefined;
}

/** What to ask for: JSON (PEP 691) where the index has it, else HTML (PEP 503). */
export const INDEX_ACCEPT =
  'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1';

/** PEP 503: the one form in which an index knows a name. */
export const normalizeName = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, '-');

/** Reads a project's page in either form; `base` is the page's own address, for relative links. */
export function parseIndexPage(
  text: string,
  { contentType, base }: { contentType: string; base: string },
): IndexFile[] {
  return contentType.includes('json') ? parseJson(text, base) : parseHtml(text, base);
}

/** The wheel of that version which runs anywhere; a name and a version have no dash inside (PEP 427). */
export function findWheel(
  files: readonly IndexFile[],
  wanted: { package: string; version: string },
): IndexFile | undefined {
  return files.find(({ name }) => {
    const [distribution = '', version, ...tags] = name.replace(/\.whl$/, '').split('-');
    return (
      name.endsWith('.whl') &&
      normalizeName(distribution) === normalizeName(wanted.package) &&
      version === wanted.version &&
      tags.join('-').endsWith('-none-any')
    );
  });
}

function parseJson(text: string, base: string): IndexFile[] {
  const page: unknown = JSON.parse(text);
  const files = field(page, 'files');
  if (!Array.isArray(files)) return [];
  return files.flatMap((file: unknown) => {
    const [name, url, sha256] = [field(file, 'filename'), field(file, 'url'), field(field(file, 'hashes'), 'sha256')];
    if (typeof name !== 'string' || typeof url !== 'string' || !URL.canParse(url, base)) return [];
    return [{ name, url: new URL(url, base).href, sha256: typeof sha256 === 'string' ? sha256 : undefined }];
  });
}

function parseHtml(text: string, base: string): IndexFile[] {
  const files: IndexFile[] = [];
  for (const [, attributes = '', label = ''] of text.matchAll(/<a\s([^>]*)>([^<]*)<\/a>/gi)) {
    const link = /(?:^|\s)href\s*=\s*(?:"([^"]*)"|'([^']*)')/i.exec(attributes);
    const href = (link?.[1] ?? link?.[2] ?? '').replaceAll('&amp;', '&');
    if (!URL.canParse(href, base)) continue;
    const url = new URL(href, base);
    const sha256 = /(?:^#|&)sha256=([0-9a-f]{64})(?:&|$)/.exec(url.hash)?.[1];
    url.hash = '';
    files.push({ name: label.trim(), url: url.href, sha256 });
  }
  return files;
}

const field = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
