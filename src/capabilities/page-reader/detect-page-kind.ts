import { ServiceError } from '../../core/error.ts';

export type PageKind = 'html' | 'text' | 'markdown' | 'pdf';

const KINDS_BY_MEDIA_TYPE: Readonly<Record<string, PageKind>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/plain': 'text',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'application/pdf': 'pdf',
};

/** Media types that say nothing about the content. */
const UNSPECIFIC_MEDIA_TYPES: ReadonlySet<string> = new Set([
  '',
  'application/octet-stream',
  'binary/octet-stream',
  'unknown/unknown',
]);

/**
 * Detects the kind of a page by its Content-Type, or by its first bytes if that says nothing.
 *
 * @throws ServiceError `upstream-failed` for an unsupported kind.
 */
export function detectPageKind(contentType: string, bytes: Uint8Array, url: string): PageKind {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  const head = Buffer.from(bytes.subarray(0, 512)).toString('latin1').trimStart();
  if (Object.hasOwn(KINDS_BY_MEDIA_TYPE, type)) {
    const kind = KINDS_BY_MEDIA_TYPE[type];
    if (kind === 'text' && /\.(?:md|markdown)$/i.test(new URL(url).pathname)) return 'markdown';
    if (kind !== undefined) return kind;
  }
  if (UNSPECIFIC_MEDIA_TYPES.has(type)) {
    if (head.startsWith('%PDF-')) return 'pdf';
    if (/^(?:\u00ef\u00bb\u00bf)?<(?:!doctype html|html|head|body)[\s>]/i.test(head)) return 'html';
  }
  const shownType = /^[\w.+/-]{1,80}$/.test(type) ? type : 'unknown type';
  throw new ServiceError('upstream-failed', `The URL is not a readable page (${shownType}).`);
}
