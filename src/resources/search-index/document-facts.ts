import { INDEX_TITLE_CHARS_MAX } from '../../core/limits.ts';

/** What a document says of itself. */
export interface DocumentFacts {
  readonly title: string;
  /** UTC milliseconds. */
  readonly publishedAt: number | undefined;
}

export interface ReadFile {
  /** What it was read as. */
  readonly kind: string;
  readonly text: string;
  /** Its first bytes, as they are. */
  readonly head: Uint8Array;
  /** Within its collection. */
  readonly reference: string;
  /** When it was last changed, as its disk says: UTC milliseconds. */
  readonly changedAt: number;
}

/** Characters at whose beginning a document says what it is. */
const HEAD_CHARS = 8_192;

/** Archives that come out the same for everybody give their files a moment in the 1980s, or none at all. */
const HONEST_SINCE = Date.UTC(1990, 0, 1);

/** A title as the document has it, else its path; when it was published, as it says, else when its file was changed. */
export function factsOf(file: ReadFile, now: number): DocumentFacts {
  const front = file.kind === 'markdown' ? frontMatter(file.text) : new Map<string, string>();
  const stated = momentOf(file.kind === 'html' ? publishedInHtml(file.head) : front.get('date'));
  const changedAt = file.changedAt >= HONEST_SINCE && file.changedAt <= now ? Math.floor(file.changedAt) : undefined;
  return {
    title: titleOf(front.get('title') ?? '') || titleIn(file) || titleOf(pathTitle(file.reference)) || file.reference,
    publishedAt: stated ?? changedAt,
  };
}

function titleIn({ kind, text, head }: ReadFile): string {
  const start = text.slice(0, HEAD_CHARS);
  // A page's title is the first thing that is read of it.
  if (kind === 'html' && /<title[\s>]/i.test(Buffer.from(head).toString('latin1'))) return titleOf(firstLine(start));
  if (kind === 'csv' || kind === 'json' || kind === 'text') return '';
  const [, hashed = '', underlined = '', tagged = ''] =
    /^ {0,3}#{1,2}[ \t]+(.+)$|^(?! {0,3}[-=#>|*])(\S.{0,300})\n=+[ \t]*$|<h1[^>]{0,200}>([^<]{1,300})<\/h1>/im.exec(
      start,
    ) ?? [];
  return titleOf(hashed || underlined || tagged);
}

const firstLine = (text: string): string => /\S.*/.exec(text)?.[0] ?? '';

/** `guides/first-steps.md` -> `guides/first-steps`. */
const pathTitle = (reference: string): string => reference.replace(/\.[^./]{1,10}$/, '');

/** As a reader sees it: without marks, links and pictures. */
const titleOf = (line: string): string =>
  line
    .replaceAll(/!\[[^\]]{0,300}\]\([^)]{0,500}\)/g, ' ')
    .replaceAll(/\[([^\]]{0,300})\](?:\([^)]{0,500}\)|\[[^\]]{0,100}\])/g, '$1')
    .replaceAll(/<[^>]{0,500}>|[`*]|#+\s*$/g, ' ')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, INDEX_TITLE_CHARS_MAX)
    .toWellFormed();

/** Names and values between the two lines of `---` that a text may begin with. */
function frontMatter(text: string): ReadonlyMap<string, string> {
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

const PUBLISHED_NAMES = new Set([
  'article:published_time',
  'datepublished',
  'date',
  'dc.date',
  'dcterms.date',
  'pubdate',
]);

function publishedInHtml(head: Uint8Array): string | undefined {
  for (const [tag] of Buffer.from(head)
    .toString('latin1')
    .matchAll(/<meta\s[^>]{1,500}>/gi)) {
    const name = /\s(?:property|name|itemprop)\s*=\s*["']([^"']{1,60})["']/i.exec(tag)?.[1]?.toLowerCase() ?? '';
    if (PUBLISHED_NAMES.has(name)) return /\scontent\s*=\s*["']([^"']{1,60})["']/i.exec(tag)?.[1];
  }
  return undefined;
}

/** Of a date, or a date and time with a zone; anything else would be another moment on another machine. */
function momentOf(text: string | undefined): number | undefined {
  const shape = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)? ?(?:Z|[+-]\d{2}:?\d{2}))?$/;
  if (text === undefined || !shape.test(text)) return undefined;
  const at = Date.parse(text.replace(/^(\S{10}) /, '$1T').replace(' ', ''));
  return Number.isNaN(at) ? undefined : at;
}
