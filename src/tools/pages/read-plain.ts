import { SEARCH_TITLE_CHARS_MAX } from '../../core/limits.ts';
import { visibleText } from '../../lib/visible-text.ts';
import { cutParagraphs } from './element-text.ts';
import { line } from './page-facts.ts';
import type { PageReading } from './read-markup.ts';

/** A page that is a text already. One in Markdown stays so, without its comments, which nobody sees. */
export function readPlain(
  source: string,
  { kind, charsMax }: { readonly kind: 'text' | 'markdown'; readonly charsMax: number },
): PageReading {
  // Cut before it is looked through: what follows is not told anyway.
  const seen = visibleText(source.slice(0, charsMax * 2));
  const text = kind === 'markdown' ? seen.replaceAll(/<!--[\s\S]*?(?:-->|$)/g, '') : seen;
  const heading = kind === 'markdown' ? /^# +(.+)$/m.exec(text)?.[1] : undefined;
  return {
    title: line(heading ?? '', SEARCH_TITLE_CHARS_MAX),
    siteName: '',
    icon: '',
    text: cutParagraphs(
      text
        .replaceAll(/[^\S\n]+$/gm, '')
        .replaceAll(/\n{3,}/g, '\n\n')
        .trim(),
      charsMax,
    ),
    robots: [],
  };
}
