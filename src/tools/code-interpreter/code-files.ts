import { extname } from 'node:path';

/** Ours: characters of a name that a program gave. Beyond: cut, in front of its ending. */
const NAME_CHARACTERS_MAX = 120;

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

/** By its name: a program that lies about it lies to whoever opens it, so they are told `nosniff` elsewhere. */
export const mediaTypeOf = (name: string): string =>
  MEDIA_TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream';

/** A name without folders and without what cannot be shown, that none of `taken` has. */
export function fileName(wished: string, taken: ReadonlySet<string>): string {
  const last = wished.split(/[/\\]/).at(-1) ?? '';
  const shown = last.replaceAll(/[\p{C}:*?"<>|]/gu, '_').replace(/^\.+/, '');
  const ending = extname(shown).slice(0, 16);
  const stem =
    shown.slice(0, shown.length - extname(shown).length).slice(0, NAME_CHARACTERS_MAX - ending.length) || 'file';
  // A character of two units may have been cut in half.
  let name = `${stem}${ending}`.toWellFormed();
  for (let number = 2; taken.has(name); number++) name = `${stem}-${number}${ending}`.toWellFormed();
  return name;
}
