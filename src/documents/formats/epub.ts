import { posix } from 'node:path';
import type { TextLayout } from '../text-layout.ts';
import { readMarkup } from '../read-markup.ts';
import { UnreadableDocumentError, createNoMainPartError } from '../unreadable-document-error.ts';
import type { ZipArchive } from '../zip.ts';
import { readHtml } from './html.ts';

const PAGE_MEDIA_TYPE = /^(?:application\/xhtml\+xml|text\/html)$/;

/** Reads the pages of a book in spine order. */
export function readEpub(zip: ZipArchive, layout: TextLayout): void {
  const packagePath = findPackagePath(zip);
  const folder = posix.dirname(packagePath);
  const pages = new Map<string, string>();
  const spine: string[] = [];
  readMarkup(zip.read(packagePath), 'xml', {
    open(name, attributes) {
      const { id, href, idref } = attributes;
      if (
        name === 'item' &&
        id !== undefined &&
        href !== undefined &&
        PAGE_MEDIA_TYPE.test(attributes['media-type'] ?? '')
      )
        pages.set(id, posix.join(folder, decodeHref(href)));
      else if (name === 'itemref' && idref !== undefined) spine.push(idref);
    },
  });
  const encryptedFiles = readEncryptedFiles(zip);
  for (const id of spine) {
    const page = pages.get(id);
    if (page === undefined || !zip.has(page)) continue;
    if (encryptedFiles.has(page)) throw new UnreadableDocumentError('is protected by digital rights management (DRM)');
    layout.startBlock();
    readHtml(zip.read(page), layout, 'html');
  }
}

/** Returns the path of the package document (EPUB 3.3, 4.2.6.3.1). */
function findPackagePath(zip: ZipArchive): string {
  let packagePath: string | undefined;
  readMarkup(zip.read('META-INF/container.xml'), 'xml', {
    open(name, attributes) {
      if (name === 'rootfile') packagePath ??= attributes['full-path'];
    },
  });
  if (packagePath === undefined) throw createNoMainPartError();
  return packagePath;
}

/** Returns the encrypted files (EPUB 3.3, 4.2.6.3.2). Often only fonts are encrypted, which extraction ignores. */
function readEncryptedFiles(zip: ZipArchive): ReadonlySet<string> {
  const encryptedFiles = new Set<string>();
  if (!zip.has('META-INF/encryption.xml')) return encryptedFiles;
  readMarkup(zip.read('META-INF/encryption.xml'), 'xml', {
    open(name, attributes) {
      const { URI } = attributes;
      if (name === 'CipherReference' && URI !== undefined) encryptedFiles.add(posix.join('.', decodeHref(URI)));
    },
  });
  return encryptedFiles;
}

function decodeHref(href: string): string {
  const path = href.replace(/#.*$/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
