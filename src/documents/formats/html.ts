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

const HIDING_STYLE = /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;

/** Reads a page: headings with `#`, list items with markers, table rows as lines. Leaves out hidden elements. */
export function readHtml(bytes: Uint8Array, layout: TextLayout, type: 'html' | 'xml' = 'html'): void {
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
      if (skippedDepth > 0 || SKIPPED_ELEMENTS.has(name) || isHidden(attributes)) {
        if (!VOID_ELEMENTS.has(name)) skippedDepth++;
        return;
      }
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
      if (preformattedDepth > 0) layout.addText(text.replaceAll(/\r\n?/g, '\n'));
      else layout.addCollapsedText(text);
    },
    close(name) {
      if (VOID_ELEMENTS.has(name)) return;
      if (skippedDepth > 0) {
        skippedDepth--;
        return;
      }
      if (name === 'tr') return layout.endRow();
      if (name === 'pre') preformattedDepth = Math.max(0, preformattedDepth - 1);
      if (name === 'ul' || name === 'ol') lists.pop();
      if (name === 'li') layout.startLine();
      breakAround(name);
    },
  });
}

function createListMarker(lists: readonly { readonly isOrdered: boolean; count: number }[]): string {
  const list = lists.at(-1);
  if (list) list.count++;
  const indent = '  '.repeat(Math.min(8, Math.max(0, lists.length - 1)));
  return `${indent}${list?.isOrdered ? `${list.count}.` : '-'} `;
}

const isHidden = (attributes: Attributes): boolean =>
  attributes['hidden'] !== undefined || HIDING_STYLE.test(attributes['style'] ?? '');
