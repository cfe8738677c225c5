import { ANSWER_SOURCES_MAX } from '../../core/limits.ts';
import type { Source } from '../../core/server-tools.ts';

/** The sources of one answer, numbered from 1 as they come. A page that comes again keeps its number. */
export interface SourceList {
  /** Those that there is no place for are left out. */
  add(results: readonly Omit<Source, 'index'>[]): readonly Source[];
  /** What was read of a page replaces what a search said of it. It stays where it was found, wherever that led to. */
  read(url: string, page: Omit<Source, 'index'>): Source | undefined;
  all(): readonly Source[];
  isRead(index: number): boolean;
}

export function createSourceList(): SourceList {
  const known = new Map<string, Source>();
  const readOnes = new Set<number>();

  const put = (result: Omit<Source, 'index'>): Source | undefined => {
    const key = pageOf(result.url);
    const one = known.get(key);
    if (one) return one;
    if (known.size >= ANSWER_SOURCES_MAX) return undefined;
    const source = { ...result, index: known.size + 1 };
    known.set(key, source);
    return source;
  };

  return {
    add: (results) => [...new Set(results.flatMap((result) => put(result) ?? []))],
    read(url, page) {
      const one = put({ ...page, url });
      if (!one) return undefined;
      const { index, url: found } = one;
      const source = { ...one, ...page, index, url: found, title: page.title === '' ? one.title : page.title };
      known.set(pageOf(url), source);
      readOnes.add(source.index);
      return source;
    },
    all: () => [...known.values()],
    isRead: (index) => readOnes.has(index),
  };
}

/** An address without the place in its page. */
export const pageOf = (url: string): string => url.replace(/#.*$/s, '');
