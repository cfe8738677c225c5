import { extname } from 'node:path';

/** Chosen: maximum characters of a file name. Longer names are truncated before the extension. */
const NAME_CHARS_MAX = 120;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.tsv': 'text/tab-separated-values',
  '.webp': 'image/webp',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.xml': 'application/xml',
  '.zip': 'application/zip',
};

/** Guesses the media type by the name. A program may use a wrong extension, so downloads are sent with `nosniff`. */
export const getMediaType = (name: string): string =>
  MEDIA_TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream';

/** Returns a name without folders and unprintable characters that is not in `taken`. */
export function createUniqueFileName(requestedName: string, taken: ReadonlySet<string>): string {
  const baseName = requestedName.split(/[/\\]/).at(-1) ?? '';
  const cleanName = baseName.replaceAll(/[\p{C}:*?"<>|]/gu, '_').replace(/^\.+/, '');
  const extension = extname(cleanName).slice(0, 16);
  const stem =
    cleanName.slice(0, cleanName.length - extname(cleanName).length).slice(0, NAME_CHARS_MAX - extension.length) ||
    'file';
  // Truncation may have split a surrogate pair.
  let name = `${stem}${extension}`.toWellFormed();
  for (let number = 2; taken.has(name); number++) name = `${stem}-${number}${extension}`.toWellFormed();
  return name;
}
