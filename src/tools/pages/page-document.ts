import { parseHTML } from 'linkedom';

/** As much of a DOM as is used here; the compiler's own description of it belongs to browsers. */
export interface PageNode {
  readonly nodeType: number;
  readonly textContent: string | null;
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
}

export interface PageElement extends PageNode {
  readonly localName: string;
  readonly parentElement: PageElement | null;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  remove(): void;
}

export interface PageDocument {
  readonly documentElement: PageElement;
  readonly body: PageElement;
  querySelectorAll(selector: string): Iterable<PageElement>;
}

const [ELEMENT_NODE, TEXT_NODE] = [1, 3];

const isElement = (node: PageNode): node is PageElement => node.nodeType === ELEMENT_NODE;

/** A page as a tree. Nothing in it runs, and nothing it refers to is fetched. */
export function parsePage(html: string): PageDocument {
  // Without the outer elements the parser makes the first one it meets the root, and forgets the others.
  const whole = /<html[\s>]/i.test(html)
    ? html
    : `<!doctype html><html>${/<(?:head|body)[\s>]/i.test(html) ? html : `<head></head><body>${html}</body>`}</html>`;
  const { document }: { readonly document: PageDocument } = parseHTML(whole);
  return document;
}

/**
 * Every element within `root`, and itself, as it is entered and as it is left; texts are entered only. What is skipped is not
 * entered. Without recursion: pages are as deep as they like.
 */
export function* walk(
  root: PageElement,
  skip: (element: PageElement) => boolean = () => false,
): Generator<{ readonly element: PageElement; readonly isEntering: boolean; readonly text?: string }> {
  let element = root;
  yield { element, isEntering: true };
  let node = root.firstChild;
  for (;;) {
    if (node === null) {
      yield { element, isEntering: false };
      if (element === root) return;
      node = element.nextSibling;
      const { parentNode } = element;
      if (parentNode === null || !isElement(parentNode)) return;
      element = parentNode;
    } else if (isElement(node) && !skip(node)) {
      element = node;
      yield { element, isEntering: true };
      node = node.firstChild;
    } else {
      if (node.nodeType === TEXT_NODE) yield { element, isEntering: true, text: node.textContent ?? '' };
      node = node.nextSibling;
    }
  }
}

/** An attribute's words, such as classes. */
export const wordsOf = (element: PageElement, name: string): readonly string[] =>
  (element.getAttribute(name) ?? '').toLowerCase().split(/\s+/).filter(Boolean);
