import type { TextLayout } from '../text-layout.ts';
import { type Attributes, readMarkup } from '../read-markup.ts';

/** Elements that contain no text or are not displayed. */
const SKIPPED_ELEMENTS = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'iframe',
  'object',
  'svg',
  'canvas',
  'audio',
  'video',
  'datalist',
]);

const LINE_ELEMENTS = new Set([
  'address',
  'article',
  'aside',
  'blockquote',
  'dd',
  'div',
  'dl',
  'dt',
  'fieldset',
  'figcaption',
  'figure',
  'footer',
  'form',
  'header',
  'hr',
  'legend',
  'main',
  'nav',
  'option',
  'section',
  'summary',
  'title',
]);

/** Elements with an empty line before and after. */
const BLOCK_ELEMENTS = new Set(['p', 'pre', 'table', 'ul', 'ol', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6']);

const VOID_ELEMENTS = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'source',
  'wbr',
]);

/** Classes of navigation bars, as DocBook, Doxygen and many others name them. */
const NAVIGATION_CLASS = /(?:^|\s)nav(?:-?(?:header|footer|bar|path|igation))?(?:\s|$)/i;

const HIDING_STYLE = /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;

/**
 * Reads a page: headings with `#`, list items with markers, table rows as lines. Leaves out hidden elements, and
 * navigation unless the page has no other text.
 */
export function readHtml(bytes: Uint8Array, layout: TextLayout, type: 'html' | 'xml' = 'html'): void {
  if (!readElements(bytes, layout, { type, skipsNavigation: true }))
    readElements(bytes, layout, { type, skipsNavigation: false });
}

/** @returns whether the page has any text besides its title. */
function readElements(
  bytes: Uint8Array,
  layout: TextLayout,
  { type, skipsNavigation }: { readonly type: 'html' | 'xml'; readonly skipsNavigation: boolean },
): boolean {
  let hasText = false;
  let isInTitle = false;
  /** Number of open elements within a skipped element, including itself. */
  let skippedDepth = 0;
  let preformattedDepth = 0;
  const lists: { readonly isOrdered: boolean; count: number }[] = [];

  const breakAround = (name: string): void => {
    if (BLOCK_ELEMENTS.has(name) && (lists.length === 0 || (name !== 'ul' && name !== 'ol'))) layout.startBlock();
    else if (BLOCK_ELEMENTS.has(name) || LINE_ELEMENTS.has(name)) layout.startLine();
  };

  readMarkup(bytes, type, {
    open(name, attributes) {
      // The first run has written the title.
      const isSkipped = SKIPPED_ELEMENTS.has(name) || isHidden(attributes) || (!skipsNavigation && name === 'title');
      if (skippedDepth > 0 || isSkipped || (skipsNavigation && isNavigation(name, attributes))) {
        if (!VOID_ELEMENTS.has(name)) skippedDepth++;
        return;
      }
      if (name === 'title') isInTitle = true;
      if (name === 'br') return layout.startLine();
      if (name === 'tr') return layout.startRow();
      if (name === 'td' || name === 'th') return layout.startCell();
      breakAround(name);
      if (name === 'pre') preformattedDepth++;
      if (name === 'ul' || name === 'ol') lists.push({ isOrdered: name === 'ol', count: 0 });
      if (name === 'li') {
        layout.startLine();
        layout.setPrefix(createListMarker(lists));
      }
      if (/^h[1-6]$/.test(name)) layout.setPrefix(`${'#'.repeat(Number(name[1]))} `);
    },
    text(text) {
      if (skippedDepth > 0) return;
      hasText ||= !isInTitle && /\S/.test(text);
      if (preformattedDepth > 0) layout.addText(text.replaceAll(/\r\n?/g, '\n'));
      else layout.addCollapsedText(text);
    },
    close(name) {
      if (VOID_ELEMENTS.has(name)) return;
      if (skippedDepth > 0) {
        skippedDepth--;
        return;
      }
      if (name === 'title') isInTitle = false;
      if (name === 'tr') return layout.endRow();
      if (name === 'pre') preformattedDepth = Math.max(0, preformattedDepth - 1);
      if (name === 'ul' || name === 'ol') lists.pop();
      if (name === 'li') layout.startLine();
      breakAround(name);
    },
  });
  return hasText;
}

const isNavigation = (name: string, attributes: Attributes): boolean =>
  name === 'nav' ||
  attributes['role']?.toLowerCase() === 'navigation' ||
  NAVIGATION_CLASS.test(attributes['class'] ?? '');

function createListMarker(lists: readonly { readonly isOrdered: boolean; count: number }[]): string {
  const list = lists.at(-1);
  if (list) list.count++;
  const indent = '  '.repeat(Math.min(8, Math.max(0, lists.length - 1)));
  return `${indent}${list?.isOrdered ? `${list.count}.` : '-'} `;
}

const isHidden = (attributes: Attributes): boolean =>
  attributes['hidden'] !== undefined || HIDING_STYLE.test(attributes['style'] ?? '');
