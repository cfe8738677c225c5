/** The DOM members used here; TypeScript's DOM types require the browser library. */
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

/**
 * Yields `root` and every element within it when entering and when leaving, and texts when entering. Does not enter
 * skipped elements. Not recursive, because pages may be nested arbitrarily deep.
 */
export function* walkElements(
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

/** Returns the words of an attribute in lower case, such as classes. */
export const getAttributeWords = (element: PageElement, name: string): readonly string[] =>
  (element.getAttribute(name) ?? '').toLowerCase().split(/\s+/).filter(Boolean);
