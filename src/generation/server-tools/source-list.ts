import { ANSWER_SOURCES_MAX } from './limits.ts';
import type { Source } from '../../core/server-tools.ts';

/** Sources of one answer, numbered from 1 in order of discovery. A page found again keeps its number. */
export interface SourceList {
  /** Leaves out sources above ANSWER_SOURCES_MAX. */
  add(results: readonly Omit<Source, 'index'>[]): readonly Source[];
  /** Replaces the search result by the page text. The source keeps its URL, even after a redirect. */
  read(url: string, page: Omit<Source, 'index'>): Source | undefined;
  all(): readonly Source[];
  isRead(index: number): boolean;
}

export function createSourceList(): SourceList {
  const sourcesByUrl = new Map<string, Source>();
  const readIndexes = new Set<number>();

  const insert = (result: Omit<Source, 'index'>): Source | undefined => {
    const key = removeFragment(result.url);
    const one = sourcesByUrl.get(key);
    if (one) return one;
    if (sourcesByUrl.size >= ANSWER_SOURCES_MAX) return undefined;
    const source = { ...result, index: sourcesByUrl.size + 1 };
    sourcesByUrl.set(key, source);
    return source;
  };

  return {
    add: (results) => [...new Set(results.flatMap((result) => insert(result) ?? []))],
    read(url, page) {
      const existing = insert({ ...page, url });
      if (!existing) return undefined;
      const { index, url: found } = existing;
      const source = {
        ...existing,
        ...page,
        index,
        url: found,
        title: page.title === '' ? existing.title : page.title,
      };
      sourcesByUrl.set(removeFragment(url), source);
      readIndexes.add(source.index);
      return source;
    },
    all: () => [...sourcesByUrl.values()],
    isRead: (index) => readIndexes.has(index),
  };
}

/** Removes the fragment of a URL. */
export const removeFragment = (url: string): string => url.replace(/#.*$/s, '');
