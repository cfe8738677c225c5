import { posix } from 'node:path';
import type { Flow } from '../flow.ts';
import { readMarkup } from '../read-markup.ts';
import { Unreadable } from '../unreadable.ts';
import type { Zip } from '../zip.ts';
import { readHtml } from './html.ts';

const PAGE = /^(?:application\/xhtml\+xml|text\/html)$/;

/** The pages of a book in the order of its spine. */
export function readEpub(zip: Zip, flow: Flow): void {
  const book = bookOf(zip);
  const folder = posix.dirname(book);
  const pages = new Map<string, string>();
  const spine: string[] = [];
  readMarkup(zip.read(book), 'xml', {
    open(name, attributes) {
      const { id, href, idref } = attributes;
      if (name === 'item' && id !== undefined && href !== undefined && PAGE.test(attributes['media-type'] ?? ''))
        pages.set(id, posix.join(folder, decoded(href)));
      else if (name === 'itemref' && idref !== undefined) spine.push(idref);
    },
  });
  const locked = lockedFiles(zip);
  for (const id of spine) {
    const page = pages.get(id);
    if (page === undefined || !zip.has(page)) continue;
    if (locked.has(page)) throw new Unreadable('is protected against being read by programs');
    flow.gap();
    readHtml(zip.read(page), flow, 'html');
  }
}

/** EPUB 3.3, 4.2.6.3.1. */
function bookOf(zip: Zip): string {
  let book: string | undefined;
  readMarkup(zip.read('META-INF/container.xml'), 'xml', {
    open(name, attributes) {
      if (name === 'rootfile') book ??= attributes['full-path'];
    },
  });
  if (book === undefined) throw new Unreadable('is damaged: it has no main part');
  return book;
}

/** EPUB 3.3, 4.2.6.3.2: fonts often stand there too, which nobody reads. */
function lockedFiles(zip: Zip): ReadonlySet<string> {
  const locked = new Set<string>();
  if (!zip.has('META-INF/encryption.xml')) return locked;
  readMarkup(zip.read('META-INF/encryption.xml'), 'xml', {
    open(name, attributes) {
      const { URI } = attributes;
      if (name === 'CipherReference' && URI !== undefined) locked.add(posix.join('.', decoded(URI)));
    },
  });
  return locked;
}

function decoded(href: string): string {
  const path = href.replace(/#.*$/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
