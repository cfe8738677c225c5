import { PAGE_STYLE_RULES_MAX } from '../../core/limits.ts';
import { isHidingStyle } from './hidden-style.ts';
import { wordsOf } from './page-document.ts';
import type { PageDocument, PageElement } from './page-document.ts';

/** Elements whose text is for programs, or for filling in. */
const WITHOUT_TEXT: ReadonlySet<string> = new Set([
  'applet',
  'audio',
  'button',
  'canvas',
  'datalist',
  'embed',
  'frame',
  'iframe',
  'input',
  'noembed',
  'noframes',
  'noscript',
  'object',
  'option',
  'script',
  'select',
  'style',
  'svg',
  'template',
  'textarea',
  'video',
]);

/** Names by which sheets that we do not have take elements out of sight. */
const UNSEEN_CLASSES: ReadonlySet<string> = new Set([
  'screen-reader-only',
  'screen-reader-text',
  'sr-only',
  'visually-hidden',
  'visuallyhidden',
]);

/**
 * Takes out what a person who looks at the page does not see: it may have been written for a model that reads it. What is
 * told apart by its colour alone, or by sheets elsewhere, is not found.
 */
export function removeUnseen(document: PageDocument): void {
  const hiding = hiddenNames(document);
  const unseen: PageElement[] = [];
  for (const element of document.querySelectorAll('*')) {
    if (isUnseen(element, hiding)) unseen.push(element);
  }
  for (const element of unseen) if (element !== document.documentElement && element !== document.body) element.remove();
}

/** Structured facts about the page are read before the text is. */
const isFacts = (element: PageElement): boolean =>
  element.localName === 'script' && element.getAttribute('type') === 'application/ld+json';

function isUnseen(element: PageElement, hiding: HidingNames): boolean {
  const name = element.localName;
  if (WITHOUT_TEXT.has(name)) return !isFacts(element);
  if (name === 'title') return element.parentElement?.localName !== 'head';
  if (name === 'dialog') return !element.hasAttribute('open');
  if (name === 'link' || name === 'meta') return false;
  if (element.hasAttribute('hidden') || element.getAttribute('aria-hidden')?.toLowerCase() === 'true') return true;
  const style = element.getAttribute('style');
  if (style !== null && isHidingStyle(style)) return true;
  if (hiding.ids.has(element.getAttribute('id') ?? '')) return true;
  const classes = (element.getAttribute('class') ?? '').split(/\s+/);
  return (
    classes.some((one) => hiding.classes.has(one) || UNSEEN_CLASSES.has(one.toLowerCase())) || isOutOfSight(classes)
  );
}

/** The two widespread sheets that hide by `hidden` and `d-none`, and on wide screens show again by `md:block`, `d-md-block`. */
const isOutOfSight = (classes: readonly string[]): boolean =>
  (classes.includes('hidden') && !classes.some((one) => one.includes(':'))) ||
  (classes.includes('d-none') && !classes.some((one) => /^d-\w+-/.test(one)));

interface HidingNames {
  readonly classes: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
}

/** A rule with one class or one id, outside of conditions: `.a`, `p.a`, `#a`. */
const NAME = /^[a-z0-9]*([.#])([\w-]+)$/i;

/** Ours: characters of one sheet that are looked at. */
const SHEET_CHARS_MAX = 512 * 1024;

/** The classes and ids that the page's own sheets hide in every case, such as `.x { display: none }`. */
function hiddenNames(document: PageDocument): HidingNames {
  const names = { classes: new Set<string>(), ids: new Set<string>() };
  let rules = 0;
  for (const sheet of document.querySelectorAll('style')) {
    for (const { selectors, style } of topRules((sheet.textContent ?? '').slice(0, SHEET_CHARS_MAX))) {
      rules++;
      if (rules > PAGE_STYLE_RULES_MAX) return names;
      if (!isHidingStyle(style)) continue;
      for (const selector of selectors) {
        const [, mark, name = ''] = NAME.exec(selector) ?? [];
        if (mark === '.') names.classes.add(name);
        if (mark === '#') names.ids.add(name);
      }
    }
  }
  return names;
}

/** The rules of a sheet that stand under no condition. */
function* topRules(sheet: string): Generator<{ readonly selectors: readonly string[]; readonly style: string }> {
  let depth = 0;
  let from = 0;
  let selector = '';
  for (let at = 0; at < sheet.length; at++) {
    const char = sheet[at];
    if (char === '{') {
      if (depth === 0) selector = sheet.slice(from, at);
      depth++;
      if (depth === 1) from = at + 1;
    } else if (char === '}') {
      depth = Math.max(0, depth - 1);
      if (depth > 0) continue;
      const head = selector.replaceAll(/\/\*[^*]*\*\//g, '').trim();
      if (head !== '' && !head.startsWith('@')) {
        yield { selectors: head.split(',').map((one) => one.trim()), style: sheet.slice(from, at) };
      }
      from = at + 1;
    } else if (char === ';' && depth === 0) from = at + 1;
  }
}

/** Parts of a page that lead elsewhere. */
const AROUND: ReadonlySet<string> = new Set(['nav', 'footer', 'aside', 'menu']);

/** Whether an element is beside what a page says. */
export const isAround = (element: PageElement): boolean =>
  AROUND.has(element.localName) ||
  wordsOf(element, 'role').some((role) => role === 'navigation' || role === 'banner' || role === 'contentinfo');
