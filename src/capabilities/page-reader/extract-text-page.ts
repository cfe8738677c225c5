import { SEARCH_TITLE_CHARS_MAX } from '../../tools/limits.ts';
import { removeInvisibleCharacters } from '../../lib/remove-invisible-characters.ts';
import { truncateAtParagraph } from './element-text.ts';
import { toSingleLine } from './page-metadata.ts';
import type { PageContent } from './extract-html-page.ts';

/** Extracts a text page. Markdown is kept, except for its comments, which are invisible to readers. */
export function extractTextPage(
  source: string,
  { kind, charsMax }: { readonly kind: 'text' | 'markdown'; readonly charsMax: number },
): PageContent {
  // Truncated before further processing, because the rest would be dropped anyway.
  const visible = removeInvisibleCharacters(source.slice(0, charsMax * 2));
  const text = kind === 'markdown' ? visible.replaceAll(/<!--[\s\S]*?(?:-->|$)/g, '') : visible;
  const heading = kind === 'markdown' ? /^# +(.+)$/m.exec(text)?.[1] : undefined;
  return {
    title: toSingleLine(heading ?? '', SEARCH_TITLE_CHARS_MAX),
    siteName: '',
    icon: '',
    text: truncateAtParagraph(
      text
        .replaceAll(/[^\S\n]+$/gm, '')
        .replaceAll(/\n{3,}/g, '\n\n')
        .trim(),
      charsMax,
    ),
    robots: [],
  };
}
