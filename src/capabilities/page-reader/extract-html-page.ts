import { Readability } from '@mozilla/readability';
import { SEARCH_SITE_NAME_CHARS_MAX, SEARCH_TITLE_CHARS_MAX } from '../../tools/limits.ts';
import { PAGE_DEPTH_MAX, PAGE_ELEMENTS_MAX } from './limits.ts';
import { isStackOverflow } from '../../lib/serve-worker.ts';
import { parsePublicationDate } from '../../tools/parse-publication-date.ts';
import { getElementText } from './element-text.ts';
import { walkElements } from './page-document.ts';
import type { PageDocument, PageElement } from './page-document.ts';
import { parsePage } from './parse-page.ts';
import { toSingleLine, readPageMetadata } from './page-metadata.ts';
import { isBoilerplate, removeInvisibleElements } from './remove-invisible-elements.ts';

/** Content and metadata of a page. */
export interface PageContent {
  readonly title: string;
  readonly siteName: string;
  readonly icon: string;
  readonly publishedAt?: number;
  /** Empty if the page has no text. */
  readonly text: string;
  /** Robots directives of its `meta` elements, unchanged. */
  readonly robots: readonly string[];
}

/** Chosen: a shorter article counts only if it has at least this share of the page's text. */
const ARTICLE_CHARS_MIN = 250;
const ARTICLE_SHARE_MIN = 0.5;

/**
 * Extracts the main text of a page and its metadata. Without an article, the text is all visible text except
 * navigation. Runs in a thread with limits, because a hostile page takes as much time and memory as it can.
 */
export function extractHtmlPage(
  html: string,
  { url, charsMax }: { readonly url: string; readonly charsMax: number },
): PageContent {
  const document = parsePage(html);
  const metadata = readPageMetadata(document, url);
  removeInvisibleElements(document);
  const fullText = getElementText(document.body, { charsMax, skip: isBoilerplate });
  const article = findArticle(document);
  const articleText = article?.content ? getElementText(article.content, { charsMax, skip: isBoilerplate }) : '';
  // An article longer than the page's own text contains navigation.
  const isMost = articleText.length >= fullText.length * ARTICLE_SHARE_MIN && articleText.length <= fullText.length;
  const isArticle = articleText.length >= ARTICLE_CHARS_MIN || isMost;
  const publishedAt = metadata.publishedAt ?? parsePublicationDate(article?.publishedTime);
  return {
    title: toSingleLine(article?.title ?? '', SEARCH_TITLE_CHARS_MAX) || metadata.title,
    siteName: metadata.siteName || toSingleLine(article?.siteName ?? '', SEARCH_SITE_NAME_CHARS_MAX),
    icon: metadata.icon,
    ...(publishedAt === undefined ? {} : { publishedAt }),
    text: isArticle ? articleText : fullText,
    robots: metadata.robots,
  };
}

interface Article {
  readonly title?: string | null | undefined;
  readonly siteName?: string | null | undefined;
  readonly publishedTime?: string | null | undefined;
  readonly content?: PageElement | null | undefined;
}

/** Returns undefined if there is no article, or the page is too large or too deep. Modifies the document. */
function findArticle(document: PageDocument): Article | undefined {
  if (!isSmallEnough(document.body)) return undefined;
  try {
    const serializer = (content: unknown): PageElement => content as PageElement;
    // The types of the library require a browser's document; it uses only members that exist here.
    return (
      new Readability(document as ConstructorParameters<typeof Readability>[0], { serializer }).parse() ?? undefined
    );
  } catch (error) {
    if (isStackOverflow(error)) return undefined;
    throw error;
  }
}

/** Checks the size, because the search for an article takes quadratic time. */
function isSmallEnough(root: PageElement): boolean {
  let [count, depth] = [0, 0];
  for (const step of walkElements(root)) {
    count++;
    if (step.text === undefined) depth += step.isEntering ? 1 : -1;
    if (depth > PAGE_DEPTH_MAX || count > 2 * PAGE_ELEMENTS_MAX) return false;
  }
  return true;
}
