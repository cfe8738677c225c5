import type { RefreshReport } from '../resources/search-index/search-index.ts';
import type { IndexCollection, IndexCollectionTotals, IndexSource } from '../store/index-collections.ts';

type ListedCollection = IndexCollection & IndexCollectionTotals;

/** What scripts read of a collection. */
export const encodeCollection = (collection: ListedCollection) => ({
  name: collection.name,
  sources: collection.sources.map(placeOf),
  domain: collection.domain ?? null,
  workspace: collection.workspace ?? null,
  documents: collection.documents,
  passages: collection.passages,
  bytes: collection.bytes,
  vectors: collection.vectors,
  createdAt: new Date(collection.createdAt).toISOString(),
  refreshedAt: collection.refreshedAt === undefined ? null : new Date(collection.refreshedAt).toISOString(),
});

export const COLLECTION_HEAD = ['NAME', 'DOCUMENTS', 'PASSAGES', 'VECTORS', 'FOUND BY', 'DOMAIN', 'REFRESHED', 'FROM'];

/** The cells under that head. */
export function collectionRow(collection: ListedCollection): readonly string[] {
  const { refreshedAt, sources } = collection;
  const [first, ...others] = sources.map(placeOf);
  return [
    collection.name,
    String(collection.documents),
    String(collection.passages),
    String(collection.vectors),
    collection.workspace ?? 'all',
    collection.domain ?? '',
    refreshedAt === undefined ? 'not to its end' : new Date(refreshedAt).toISOString(),
    `${first ?? ''}${others.length > 0 ? ` and ${others.length} more` : ''}`,
  ];
}

const placeOf = (source: IndexSource): string => (source.type === 'url' ? source.url : source.path);

/** `3 added, 1 changed, 200 unchanged; passed over: 2 hidden`. */
export function describeReport({ passedOver, ...report }: RefreshReport): string {
  const said = (['added', 'changed', 'unchanged', 'removed', 'failed'] as const)
    .filter((each) => report[each] > 0)
    .map((each) => `${report[each]} ${each === 'failed' ? 'not read' : each}`);
  if (report.vectors > 0) said.push(`${report.vectors} with new vectors`);
  const names = { hidden: 'hidden', links: 'links', otherKinds: 'of other kinds', tooDeep: 'too deep' } as const;
  const over = (['hidden', 'links', 'otherKinds', 'tooDeep'] as const)
    .filter((each) => passedOver[each] > 0)
    .map((each) => `${passedOver[each]} ${names[each]}`);
  return `${said.join(', ') || 'nothing there'}${over.length > 0 ? `; passed over: ${over.join(', ')}` : ''}`;
}
