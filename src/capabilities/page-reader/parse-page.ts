import { parseHTML } from 'linkedom';
import type { PageDocument } from './page-document.ts';

// A file of its own, because the service reads metadata without parsing pages: only the page process loads linkedom.

/** Parses a page. Runs no scripts and fetches nothing. */
export function parsePage(html: string): PageDocument {
  // linkedom takes the first element as the root and drops its siblings, so the outer elements are added.
  const whole = /<html[\s>]/i.test(html)
    ? html
    : `<!doctype html><html>${/<(?:head|body)[\s>]/i.test(html) ? html : `<head></head><body>${html}</body>`}</html>`;
  const { document }: { readonly document: PageDocument } = parseHTML(whole);
  return document;
}
