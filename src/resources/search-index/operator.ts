import { basename } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import { INDEX_SOURCES_MAX } from '../../core/limits.ts';
import type { IndexCollection, IndexSource } from '../../store/index-collections.ts';
import { isWorkspaceName } from '../keys/rules.ts';
import { fillVectors } from './fill-vectors.ts';
import { refreshCollection, type RefreshNeeds } from './refresh.ts';
import type { AddWish, EmbedTexts, RefreshReport, RefreshWatch, SearchIndexOperator } from './search-index.ts';
import { isSame, labelOf, parseSources } from './sources.ts';

export interface SearchIndexOperatorNeeds extends RefreshNeeds {
  /** Absent: documents get no vectors. */
  readonly embed?: EmbedTexts | undefined;
}

const NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,63}$/u;
const DOMAIN = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Documents that are removed at once. */
const PAGE = 100;

export function createSearchIndexOperator(needs: SearchIndexOperatorNeeds): SearchIndexOperator {
  const { store, clock, embed } = needs;

  const found = async (name: string): Promise<IndexCollection> => {
    const collection = await store.indexCollections.find(name);
    if (collection) return collection;
    throw new ServiceError('not-found', `There is no collection ${name}.`, { param: 'name' });
  };

  const refresh = async (collection: IndexCollection, watch: RefreshWatch): Promise<RefreshReport> => {
    const report = await refreshCollection(collection, needs, watch);
    const vectors = embed ? await fillVectors(collection.name, { store, embed }, watch) : undefined;
    return { ...report, vectors: vectors ?? 0 };
  };

  /** The collection of that name as it is to be: a new one, or the one there is with more sources. */
  const joined = async (
    wish: AddWish,
    sources: readonly IndexSource[],
  ): Promise<{ readonly collection: IndexCollection; readonly isNew: boolean }> => {
    const [first] = sources;
    if (!first) throw refusal('source', 'Say what to add: a folder, a file or an address.');
    const name = wish.name ?? labelOf(first);
    if (!NAME.test(name))
      throw refusal(
        'name',
        `${name || 'It'} is no name: letters, digits, points and hyphens, 64 of them at most. Say --name.`,
      );
    const draft = {
      name,
      sources,
      domain: wish.domain,
      workspace: wish.workspace,
      createdAt: clock.now(),
      refreshedAt: undefined,
    };
    checkLabels(sources);
    if (await store.indexCollections.insert(draft)) return { collection: draft, isNew: true };
    const known = await found(name);
    for (const field of ['domain', 'workspace'] as const) {
      if (wish[field] === undefined || wish[field] === known[field]) continue;
      throw conflict(
        `The collection ${name} has ${field} ${known[field] ?? 'none'}: remove it first, or say another --name.`,
      );
    }
    const more = sources.filter((source) => !known.sources.some((other) => isSame(source, other)));
    if (more.length === 0) return { collection: known, isNew: false };
    if (wish.name === undefined)
      throw conflict(
        `There is a collection ${name} of other documents: say --name ${name} to add to it, or another one.`,
      );
    const all = [...known.sources, ...more];
    checkLabels(all);
    await store.indexCollections.setSources(name, all);
    return { collection: { ...known, sources: all }, isNew: false };
  };

  return {
    async add(wish, watch) {
      if (wish.domain !== undefined && !DOMAIN.test(wish.domain))
        throw refusal('domain', 'A domain is a word of small letters, digits, _ and -, such as weather.');
      if (wish.workspace !== undefined && !isWorkspaceName(wish.workspace))
        throw refusal('workspace', `${wish.workspace} is no name of a workspace.`);
      const { collection, isNew } = await joined(wish, await parseSources(wish.sources));
      const { name } = collection;
      let isRead = false;
      try {
        const report = await refresh(collection, watch);
        isRead = report.failed === 0;
        return { name, report };
      } finally {
        // An address that was mistyped leaves nothing behind. What holds a document stays.
        if (isNew && !isRead) await store.indexCollections.remove(name);
      }
    },
    refresh: async (name, watch) => await refresh(await found(name), watch),
    async list() {
      const collections = await store.indexCollections.list();
      return await Promise.all(
        collections.map(async (each) => ({ ...each, ...(await store.indexCollections.totalsOf(each.name)) })),
      );
    },
    async remove(name) {
      await found(name);
      const totals = await store.indexCollections.totalsOf(name);
      // Somebody may be adding to it: it is gone when none are left.
      while (!(await store.indexCollections.remove(name))) {
        const page = await store.indexDocuments.hashes(name, { after: '', limit: PAGE });
        if (page.size === 0 && !(await store.indexCollections.find(name))) break;
        await store.transaction(({ indexDocuments }) => indexDocuments.remove(name, [...page.keys()]));
      }
      return totals;
    },
  };
}

/** Of several sources each path begins with its folder's name: two alike would be the same documents. */
function checkLabels(sources: readonly IndexSource[]): void {
  if (sources.length > INDEX_SOURCES_MAX)
    throw refusal('source', `A collection has at most ${INDEX_SOURCES_MAX} addresses and paths.`);
  const labels = sources.flatMap((source) =>
    source.type === 'folder' || source.type === 'file' ? [basename(source.path)] : [],
  );
  const twice = labels.find((label, at) => labels.indexOf(label) < at);
  if (twice !== undefined)
    throw conflict(`Two sources of a collection are called ${twice}: give one of them a --name of its own.`);
}

const refusal = (param: string, message: string): ServiceError =>
  new ServiceError('invalid-request', message, { param });
const conflict = (message: string): ServiceError => new ServiceError('conflict', message, { param: 'name' });
