import { basename } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import { INDEX_PROBLEMS_LISTED_MAX, INDEX_SOURCES_MAX } from './limits.ts';
import type { IndexCollection, IndexSource } from '../../store/index-collections.ts';
import { isWorkspaceName } from '../../resources/keys/workspace-name.ts';
import { type FillVectorsDeps, fillVectors } from './fill-vectors.ts';
import { refreshCollection, type RefreshDeps } from './refresh.ts';
import type {
  AddSourcesRequest,
  EmbedTexts,
  RefreshProblem,
  RefreshReport,
  RefreshOptions,
  SearchIndexOperator,
} from './search-index.ts';
import { INDEX_FORMAT } from './index-passages.ts';
import { updateTerms } from './update-terms.ts';
import { isSameSource, getDefaultName, parseSources, createTooManySourcesError } from './sources.ts';

export interface SearchIndexOperatorDeps extends RefreshDeps {
  /** Without it, documents get no vectors. */
  readonly embed?: EmbedTexts | undefined;
}

const COLLECTION_NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,63}$/u;
const DOMAIN = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Documents that are removed per transaction. */
const DOCUMENTS_PER_PAGE = 100;

export function createSearchIndexOperator(deps: SearchIndexOperatorDeps): SearchIndexOperator {
  const { store, clock, embed } = deps;

  const findCollection = async (name: string): Promise<IndexCollection> => {
    const collection = await store.indexCollections.find(name);
    if (collection) return collection;
    throw new ServiceError('not-found', `Collection ${name} not found.`, { param: 'name' });
  };

  const refresh = async (collection: IndexCollection, options: RefreshOptions): Promise<RefreshReport> => {
    // First, because documents whose source is missing are not read again.
    await updateTerms({ store, collection: collection.name, signal: options.signal });
    const report = await refreshCollection(collection, deps, options);
    const skipped: RefreshProblem[] = [];
    const onSkip: FillVectorsDeps['onSkip'] = ({ title }, reason) => {
      if (report.problems.length + skipped.length < INDEX_PROBLEMS_LISTED_MAX)
        skipped.push({
          reference: title,
          reason: `It is found by words only, because it cannot be embedded: ${reason}`,
        });
    };
    const vectors =
      embed && options.leavesVectors !== true
        ? await fillVectors(collection.name, { store, embed, onSkip }, options)
        : undefined;
    return { ...report, problems: [...report.problems, ...skipped], vectors: vectors ?? 0 };
  };

  /** Creates the named collection, or adds sources to an existing one. */
  const saveCollection = async (
    request: AddSourcesRequest,
    sources: readonly IndexSource[],
  ): Promise<{ readonly collection: IndexCollection; readonly isNew: boolean }> => {
    const [first] = sources;
    if (!first) throw invalidRequest('source', 'Name what to add: a folder, a file or a URL.');
    const name = request.name ?? getDefaultName(first);
    if (!COLLECTION_NAME.test(name))
      throw invalidRequest(
        'name',
        `'${name}' is not a valid name: use 1 to 64 letters, digits, points, underscores and hyphens. Set it with --name.`,
      );
    const draft = {
      name,
      sources,
      domain: request.domain,
      workspace: request.workspace,
      region: request.region ?? (request.workspace === undefined ? undefined : request.workspaceRegion),
      createdAt: clock.now(),
      refreshedAt: undefined,
    };
    checkPathNames(sources);
    const lacksRegion = draft.workspace !== undefined && draft.region === undefined;
    if (lacksRegion && !(await store.indexCollections.find(name)))
      throw invalidRequest('region', 'A workspace belongs to a region: name it with --region.');
    if (await store.indexCollections.insert(draft)) return { collection: draft, isNew: true };
    const existing = await findCollection(name);
    for (const field of ['domain', 'workspace', 'region'] as const) {
      if (request[field] === undefined || request[field] === existing[field]) continue;
      throw conflictError(
        `The collection ${name} has ${field} ${existing[field] ?? 'none'}: remove it first or set another --name.`,
      );
    }
    const newSources = sources.filter((source) => !existing.sources.some((other) => isSameSource(source, other)));
    if (newSources.length === 0) return { collection: existing, isNew: false };
    if (request.name === undefined)
      throw conflictError(
        `A collection ${name} with other sources exists. Set --name ${name} to add to it, or choose another name.`,
      );
    const all = [...existing.sources, ...newSources];
    checkPathNames(all);
    await store.indexCollections.setSources(name, all);
    return { collection: { ...existing, sources: all }, isNew: false };
  };

  return {
    async add(request, options) {
      if (request.domain !== undefined && !DOMAIN.test(request.domain))
        throw invalidRequest('domain', 'domain must be 1 to 64 lower-case letters, digits, _ and -, such as weather.');
      if (request.workspace !== undefined && !isWorkspaceName(request.workspace))
        throw invalidRequest('workspace', `workspace must be a valid workspace name, got ${request.workspace}.`);
      const { collection, isNew } = await saveCollection(request, await parseSources(request.sources));
      const { name } = collection;
      let isRead = false;
      try {
        const report = await refresh(collection, options);
        isRead = report.failed === 0;
        return { name, report };
      } finally {
        // A new collection from a mistyped source is removed again; `remove` keeps a collection that has documents.
        if (isNew && !isRead) await store.indexCollections.remove(name);
      }
    },
    refresh: async (name, options) => await refresh(await findCollection(name), options),
    async list() {
      const collections = await store.indexCollections.list();
      return await Promise.all(
        collections.map(async (collection) => ({
          ...collection,
          ...(await store.indexCollections.getTotals(collection.name)),
          outdated: await store.indexDocuments.countOutdated({ termFormat: INDEX_FORMAT, collection: collection.name }),
        })),
      );
    },
    async remove(name) {
      await findCollection(name);
      const totals = await store.indexCollections.getTotals(name);
      // Documents may be added concurrently: the collection is removed only when it is empty.
      while (!(await store.indexCollections.remove(name))) {
        const page = await store.indexDocuments.listHashes(name, { after: '', limit: DOCUMENTS_PER_PAGE });
        if (page.size === 0 && !(await store.indexCollections.find(name))) break;
        await store.transaction(({ indexDocuments }) => indexDocuments.remove(name, [...page.keys()]), {
          usesReserve: true,
        });
      }
      return totals;
    },
  };
}

/** Checks the number of sources and that their names differ: equal names would give documents the same references. */
function checkPathNames(sources: readonly IndexSource[]): void {
  if (sources.length > INDEX_SOURCES_MAX) throw createTooManySourcesError();
  const labels = sources.flatMap((source) =>
    source.type === 'folder' || source.type === 'file' ? [basename(source.path)] : [],
  );
  const duplicate = labels.find((label, at) => labels.indexOf(label) < at);
  if (duplicate !== undefined)
    throw conflictError(
      `Two sources of the collection have the name ${duplicate}. Put one of them into another collection with --name.`,
    );
}

const invalidRequest = (param: string, message: string): ServiceError =>
  new ServiceError('invalid-request', message, { param });
const conflictError = (message: string): ServiceError => new ServiceError('conflict', message, { param: 'name' });
