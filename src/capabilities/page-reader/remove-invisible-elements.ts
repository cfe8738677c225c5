import { PAGE_STYLE_RULES_MAX } from './limits.ts';
import { isHidingStyle } from './hidden-style.ts';
import { getAttributeWords } from './page-document.ts';
import type { PageDocument, PageElement } from './page-document.ts';

/** Elements whose text is for programs or user input. */
const NON_TEXT_ELEMENTS: ReadonlySet<string> = new Set([
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

/** Class names that common style sheets use for visually hidden text. */
const SCREEN_READER_CLASSES: ReadonlySet<string> = new Set([
  'screen-reader-only',
  'screen-reader-text',
  'sr-only',
  'visually-hidden',
  'visuallyhidden',
]);

/**
 * Removes elements that a visitor cannot see, because their text may have been written to manipulate a model. Does not
 * detect text hidden by its color alone or by external style sheets.
 */
export function removeInvisibleElements(document: PageDocument): void {
  const hidingSelectors = readHidingSelectors(document);
  const invisible: PageElement[] = [];
  for (const element of document.querySelectorAll('*')) {
    if (isInvisible(element, hidingSelectors)) invisible.push(element);
  }
  for (const element of invisible)
    if (element !== document.documentElement && element !== document.body) element.remove();
}

/** Whether the element contains structured data (JSON-LD), which is read before the text. */
const isStructuredData = (element: PageElement): boolean =>
  element.localName === 'script' && element.getAttribute('type') === 'application/ld+json';

function isInvisible(element: PageElement, hidingSelectors: HidingSelectors): boolean {
  const name = element.localName;
  if (NON_TEXT_ELEMENTS.has(name)) return !isStructuredData(element);
  if (name === 'title') return element.parentElement?.localName !== 'head';
  if (name === 'dialog') return !element.hasAttribute('open');
  if (name === 'link' || name === 'meta') return false;
  if (element.hasAttribute('hidden') || element.getAttribute('aria-hidden')?.toLowerCase() === 'true') return true;
  const style = element.getAttribute('style');
  if (style !== null && isHidingStyle(style)) return true;
  if (hidingSelectors.ids.has(element.getAttribute('id') ?? '')) return true;
  const classes = (element.getAttribute('class') ?? '').split(/\s+/);
  return (
    classes.some((one) => hidingSelectors.classes.has(one) || SCREEN_READER_CLASSES.has(one.toLowerCase())) ||
    isHiddenByFrameworkClass(classes)
  );
}

/** Detects `hidden` (Tailwind) and `d-none` (Bootstrap), unless a class such as `md:block` or `d-md-block` shows it. */
const isHiddenByFrameworkClass = (classes: readonly string[]): boolean =>
  (classes.includes('hidden') && !classes.some((one) => one.includes(':'))) ||
  (classes.includes('d-none') && !classes.some((one) => /^d-\w+-/.test(one)));

interface HidingSelectors {
  readonly classes: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
}

/** A selector with one class or one id: `.a`, `p.a`, `#a`. */
const SIMPLE_SELECTOR = /^[a-z0-9]*([.#])([\w-]+)$/i;

/** Chosen: maximum characters of a style sheet that are analyzed. */
const SHEET_CHARS_MAX = 512 * 1024;

/** Returns the classes and ids that style sheets in the page always hide, such as `.x { display: none }`. */
function readHidingSelectors(document: PageDocument): HidingSelectors {
  const names = { classes: new Set<string>(), ids: new Set<string>() };
  let rules = 0;
  for (const sheet of document.querySelectorAll('style')) {
    for (const { selectors, style } of parseUnconditionalRules((sheet.textContent ?? '').slice(0, SHEET_CHARS_MAX))) {
      rules++;
      if (rules > PAGE_STYLE_RULES_MAX) return names;
      if (!isHidingStyle(style)) continue;
      for (const selector of selectors) {
        const [, mark, name = ''] = SIMPLE_SELECTOR.exec(selector) ?? [];
        if (mark === '.') names.classes.add(name);
        if (mark === '#') names.ids.add(name);
      }
    }
  }
  return names;
}

/** Yields the rules of a style sheet that are not within an at-rule such as `@media`. */
function* parseUnconditionalRules(
  sheet: string,
): Generator<{ readonly selectors: readonly string[]; readonly style: string }> {
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

/** Elements that lead to other pages. */
const BOILERPLATE_ELEMENTS: ReadonlySet<string> = new Set(['nav', 'footer', 'aside', 'menu']);

/** Whether an element is not part of the main content. */
export const isBoilerplate = (element: PageElement): boolean =>
  BOILERPLATE_ELEMENTS.has(element.localName) ||
  getAttributeWords(element, 'role').some(
    (role) => role === 'navigation' || role === 'banner' || role === 'contentinfo',
  );
