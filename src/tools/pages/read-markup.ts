import { Readability } from '@mozilla/readability';
import {
  PAGE_DEPTH_MAX,
  PAGE_ELEMENTS_MAX,
  SEARCH_SITE_NAME_CHARS_MAX,
  SEARCH_TITLE_CHARS_MAX,
} from '../../core/limits.ts';
import { isStackOverflow } from '../../lib/serve-worker.ts';
import { readDate } from '../read-date.ts';
import { elementText } from './element-text.ts';
import { parsePage, walk } from './page-document.ts';
import type { PageDocument, PageElement } from './page-document.ts';
import { line, pageFacts } from './page-facts.ts';
import { isAround, removeUnseen } from './remove-unseen.ts';

/** What was read out of a page. */
export interface PageReading {
  readonly title: string;
  readonly siteName: string;
  readonly icon: string;
  readonly publishedAt?: number;
  /** Empty where there is none. */
  readonly text: string;
  /** What it says to robots, as it says it. */
  readonly robots: readonly string[];
}

/** Ours: an article with fewer characters is one only if it is at least this part of what the page says. */
const ARTICLE_CHARS_MIN = 250;
const ARTICLE_PART_MIN = 0.5;

/**
 * A page's main text, as a person would read it, and what it says of itself. Where no article is found in it, all its text but
 * for what leads elsewhere. This is for a thread with limits: hostile pages take as long and as much as they can.
 */
export function readMarkup(
  html: string,
  { url, charsMax }: { readonly url: string; readonly charsMax: number },
): PageReading {
  const document = parsePage(html);
  const facts = pageFacts(document, url);
  removeUnseen(document);
  const whole = elementText(document.body, { charsMax, skip: isAround });
  const article = findArticle(document);
  const found = article?.content ? elementText(article.content, { charsMax, skip: isAround }) : '';
  // What is longer than all the page says has what leads elsewhere in it.
  const isMost = found.length >= whole.length * ARTICLE_PART_MIN && found.length <= whole.length;
  const isArticle = found.length >= ARTICLE_CHARS_MIN || isMost;
  const publishedAt = facts.publishedAt ?? readDate(article?.publishedTime);
  return {
    title: line(article?.title ?? '', SEARCH_TITLE_CHARS_MAX) || facts.title,
    siteName: facts.siteName || line(article?.siteName ?? '', SEARCH_SITE_NAME_CHARS_MAX),
    icon: facts.icon,
    ...(publishedAt === undefined ? {} : { publishedAt }),
    text: isArticle ? found : whole,
    robots: facts.robots,
  };
}

interface Article {
  readonly title?: string | null | undefined;
  readonly siteName?: string | null | undefined;
  readonly publishedTime?: string | null | undefined;
  readonly content?: PageElement | null | undefined;
}

/** Undefined where there is none, or the page is too large or too deep for whoever looks for it. It changes the document. */
function findArticle(document: PageDocument): Article | undefined {
  if (!isModest(document.body)) return undefined;
  try {
    const serializer = (content: unknown): PageElement => content as PageElement;
    // Its own description names a browser's document, of which it uses what there is here.
    return (
      new Readability(document as ConstructorParameters<typeof Readability>[0], { serializer }).parse() ?? undefined
    );
  } catch (error) {
    if (isStackOverflow(error)) return undefined;
    throw error;
  }
}

/** Looking for an article takes time with the square of some of this. */
function isModest(root: PageElement): boolean {
  let [count, depth] = [0, 0];
  for (const step of walk(root)) {
    count++;
    if (step.text === undefined) depth += step.isEntering ? 1 : -1;
    if (depth > PAGE_DEPTH_MAX || count > 2 * PAGE_ELEMENTS_MAX) return false;
  }
  return true;
}
