import type { Flow } from '../flow.ts';
import { type Attributes, readMarkup } from '../read-markup.ts';

/** What is no text, or stands for something that is not shown. */
const SILENT = new Set([
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

const BLOCKS = new Set([
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

/** With an empty line around them. */
const APART = new Set(['p', 'pre', 'table', 'ul', 'ol', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6']);

const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'wbr']);

const HIDING_STYLE = /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;

/** A page's text: headings with `#`, lists with their marks, rows of tables as lines. What is hidden is left out. */
export function readHtml(bytes: Uint8Array, flow: Flow, type: 'html' | 'xml' = 'html'): void {
  /** How many elements are open in one that is silent, with itself. */
  let silent = 0;
  let preformatted = 0;
  const lists: { readonly isOrdered: boolean; count: number }[] = [];

  const breakAround = (name: string): void => {
    if (APART.has(name) && (lists.length === 0 || (name !== 'ul' && name !== 'ol'))) flow.gap();
    else if (APART.has(name) || BLOCKS.has(name)) flow.line();
  };

  readMarkup(bytes, type, {
    open(name, attributes) {
      if (silent > 0 || SILENT.has(name) || isHidden(attributes)) {
        if (!VOID.has(name)) silent++;
        return;
      }
      if (name === 'br') return flow.line();
      if (name === 'tr') return flow.beginRow();
      if (name === 'td' || name === 'th') return flow.beginCell();
      breakAround(name);
      if (name === 'pre') preformatted++;
      if (name === 'ul' || name === 'ol') lists.push({ isOrdered: name === 'ol', count: 0 });
      if (name === 'li') {
        flow.line();
        flow.mark(listMark(lists));
      }
      if (/^h[1-6]$/.test(name)) flow.mark(`${'#'.repeat(Number(name[1]))} `);
    },
    text(text) {
      if (silent > 0) return;
      if (preformatted > 0) flow.say(text.replaceAll(/\r\n?/g, '\n'));
      else flow.sayWords(text);
    },
    close(name) {
      if (VOID.has(name)) return;
      if (silent > 0) {
        silent--;
        return;
      }
      if (name === 'tr') return flow.endRow();
      if (name === 'pre') preformatted = Math.max(0, preformatted - 1);
      if (name === 'ul' || name === 'ol') lists.pop();
      if (name === 'li') flow.line();
      breakAround(name);
    },
  });
}

function listMark(lists: readonly { readonly isOrdered: boolean; count: number }[]): string {
  const list = lists.at(-1);
  if (list) list.count++;
  const indent = '  '.repeat(Math.min(8, Math.max(0, lists.length - 1)));
  return `${indent}${list?.isOrdered ? `${list.count}.` : '-'} `;
}

const isHidden = (attributes: Attributes): boolean =>
  attributes['hidden'] !== undefined || HIDING_STYLE.test(attributes['style'] ?? '');
