/** A file that a package index lists. */
export interface PackageIndexFile {
  readonly name: string;
  readonly url: string;
  readonly sha256: string | undefined;
}

/** Value of the `Accept` header: JSON (PEP 691) when the index has it, otherwise HTML (PEP 503). */
export const INDEX_ACCEPT =
  'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1';

/** Normalizes a package name as PEP 503 requires. */
export const normalizePackageName = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, '-');

/** Parses a project's page, JSON or HTML. `base` is the page's address, for relative links. */
export function parseIndexPage(
  text: string,
  { contentType, base }: { contentType: string; base: string },
): PackageIndexFile[] {
  return contentType.includes('json') ? parseJson(text, base) : parseHtml(text, base);
}

/**
 * Finds the wheel of a version whose name ends with one of the tags, the earlier tags first. Neither name nor version
 * contains a dash (PEP 427).
 */
export function findWheel(
  files: readonly PackageIndexFile[],
  wanted: { package: string; version: string },
  tags: readonly string[],
): PackageIndexFile | undefined {
  const wheels = files.filter(({ name }) => {
    const [distribution = '', version] = name.split('-');
    return (
      name.endsWith('.whl') &&
      normalizePackageName(distribution) === normalizePackageName(wanted.package) &&
      version === wanted.version
    );
  });
  for (const tag of tags) {
    const wheel = wheels.find(({ name }) => name.endsWith(`-${tag}.whl`));
    if (wheel) return wheel;
  }
  return undefined;
}

function parseJson(text: string, base: string): PackageIndexFile[] {
  const page: unknown = JSON.parse(text);
  const files = getField(page, 'files');
  if (!Array.isArray(files)) return [];
  return files.flatMap((file: unknown) => {
    const [name, url, sha256] = [
      getField(file, 'filename'),
      getField(file, 'url'),
      getField(getField(file, 'hashes'), 'sha256'),
    ];
    if (typeof name !== 'string' || typeof url !== 'string' || !URL.canParse(url, base)) return [];
    return [{ name, url: new URL(url, base).href, sha256: typeof sha256 === 'string' ? sha256 : undefined }];
  });
}

function parseHtml(text: string, base: string): PackageIndexFile[] {
  const files: PackageIndexFile[] = [];
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

const getField = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
