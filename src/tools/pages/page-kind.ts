import { ServiceError } from '../../core/error.ts';

export type PageKind = 'html' | 'text' | 'markdown' | 'pdf';

const KINDS: Readonly<Record<string, PageKind>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/plain': 'text',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'application/pdf': 'pdf',
};

/** What says nothing of what it is. */
const UNTOLD: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'unknown/unknown']);

/**
 * What a page is, by what its server says, and by its beginning where that says nothing.
 *
 * @throws ServiceError `upstream-failed` where it is of a kind that is not read.
 */
export function pageKind(contentType: string, bytes: Uint8Array, url: string): PageKind {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  const beginning = Buffer.from(bytes.subarray(0, 512)).toString('latin1').trimStart();
  if (Object.hasOwn(KINDS, type)) {
    const kind = KINDS[type];
    if (kind === 'text' && /\.(?:md|markdown)$/i.test(new URL(url).pathname)) return 'markdown';
    if (kind !== undefined) return kind;
  }
  if (UNTOLD.has(type)) {
    if (beginning.startsWith('%PDF-')) return 'pdf';
    if (/^(?:\u00ef\u00bb\u00bf)?<(?:!doctype html|html|head|body)[\s>]/i.test(beginning)) return 'html';
  }
  const told = /^[\w.+/-]{1,80}$/.test(type) ? type : 'of a kind that it does not tell';
  throw new ServiceError('upstream-failed', `What stands there is no page that can be read (${told}).`);
}
