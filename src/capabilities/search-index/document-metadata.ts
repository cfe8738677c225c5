import { INDEX_TITLE_CHARS_MAX } from './limits.ts';

/** Title and date of a document. */
export interface DocumentMetadata {
  readonly title: string;
  /** UTC milliseconds. */
  readonly publishedAt: number | undefined;
}

export interface FileContent {
  /** Format that the file was read as. */
  readonly kind: string;
  readonly text: string;
  /** The first bytes of the file. */
  readonly head: Uint8Array;
  /** Path within the collection. */
  readonly reference: string;
  /** Modification time of the file, UTC milliseconds. */
  readonly changedAt: number;
}

/** A document's title is searched in this many characters at its start. */
const HEAD_CHARS = 8_192;

/** Reproducible archives give files a date in the 1980s or the epoch, so that earlier dates are ignored. */
const PLAUSIBLE_MTIME_MIN = Date.UTC(1990, 0, 1);

/** Returns the document's title, else its path; and its stated publication date, else the file's modification time. */
export function getDocumentMetadata(file: FileContent, now: number): DocumentMetadata {
  const frontMatter = file.kind === 'markdown' ? parseFrontMatter(file.text) : new Map<string, string>();
  const stated = parseTimestamp(file.kind === 'html' ? findHtmlPublishedDate(file.head) : frontMatter.get('date'));
  const changedAt =
    file.changedAt >= PLAUSIBLE_MTIME_MIN && file.changedAt <= now ? Math.floor(file.changedAt) : undefined;
  return {
    title:
      cleanTitle(frontMatter.get('title') ?? '') ||
      findTitle(file) ||
      cleanTitle(referenceToTitle(file.reference)) ||
      file.reference,
    publishedAt: stated ?? changedAt,
  };
}

function findTitle({ kind, text, head }: FileContent): string {
  const start = text.slice(0, HEAD_CHARS);
  // The extracted text of a page starts with its title.
  if (kind === 'html' && /<title[\s>]/i.test(Buffer.from(head).toString('latin1'))) return cleanTitle(firstLine(start));
  if (kind === 'csv' || kind === 'json' || kind === 'text') return '';
  const [, hashed = '', underlined = '', tagged = ''] =
    /^ {0,3}#{1,2}[ \t]+(.+)$|^(?! {0,3}[-=#>|*])(\S.{0,300})\n=+[ \t]*$|<h1[^>]{0,200}>([^<]{1,300})<\/h1>/im.exec(
      start,
    ) ?? [];
  return cleanTitle(hashed || underlined || tagged);
}

const firstLine = (text: string): string => /\S.*/.exec(text)?.[0] ?? '';

/** Removes the extension: `guides/first-steps.md` -> `guides/first-steps`. */
const referenceToTitle = (reference: string): string => reference.replace(/\.[^./]{1,10}$/, '');

/** Removes markup, links and images from a title. */
const cleanTitle = (line: string): string =>
  line
    .replaceAll(/!\[[^\]]{0,300}\]\([^)]{0,500}\)/g, ' ')
    .replaceAll(/\[([^\]]{0,300})\](?:\([^)]{0,500}\)|\[[^\]]{0,100}\])/g, '$1')
    .replaceAll(/<[^>]{0,500}>|[`*]|#+\s*$/g, ' ')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, INDEX_TITLE_CHARS_MAX)
    .toWellFormed();

/** Parses names and values between the two `---` lines at the start of a text. */
function parseFrontMatter(text: string): ReadonlyMap<string, string> {
  const start = text.slice(0, HEAD_CHARS);
  const end = start.startsWith('---\n') ? start.indexOf('\n---', 3) : -1;
  const lines = end < 0 ? [] : start.slice(4, end).split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [, name = '', value = ''] = /^([\w-]{1,40}):[ \t]+(.{1,500})$/.exec(line) ?? [];
      return name === '' ? [] : [[name.toLowerCase(), value.trim().replace(/^(["'])(.*)\1$/, '$2')] as const];
    }),
  );
}

const PUBLISHED_META_NAMES = new Set([
  'article:published_time',
  'datepublished',
  'date',
  'dc.date',
  'dcterms.date',
  'pubdate',
]);

function findHtmlPublishedDate(head: Uint8Array): string | undefined {
  for (const [tag] of Buffer.from(head)
    .toString('latin1')
    .matchAll(/<meta\s[^>]{1,500}>/gi)) {
    const name = /\s(?:property|name|itemprop)\s*=\s*["']([^"']{1,60})["']/i.exec(tag)?.[1]?.toLowerCase() ?? '';
    if (PUBLISHED_META_NAMES.has(name)) return /\scontent\s*=\s*["']([^"']{1,60})["']/i.exec(tag)?.[1];
  }
  return undefined;
}

/** Parses a date, or a date and time with a zone. Without a zone the time would depend on the machine. */
function parseTimestamp(text: string | undefined): number | undefined {
  const pattern = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)? ?(?:Z|[+-]\d{2}:?\d{2}))?$/;
  if (text === undefined || !pattern.test(text)) return undefined;
  const at = Date.parse(text.replace(/^(\S{10}) /, '$1T').replace(' ', ''));
  return Number.isNaN(at) ? undefined : at;
}
