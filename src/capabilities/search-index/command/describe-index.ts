import type { ListedCollection, RefreshProgress, RefreshReport } from '../search-index.ts';
import type { IndexSource } from '../../../store/index-collections.ts';

/** Encodes a collection for `--json`. */
export const encodeCollection = (collection: ListedCollection) => ({
  name: collection.name,
  sources: collection.sources.map(getSourceAddress),
  domain: collection.domain ?? null,
  workspace: collection.workspace ?? null,
  region: collection.region ?? null,
  documents: collection.documents,
  passages: collection.passages,
  bytes: collection.bytes,
  vectors: collection.vectors,
  outdated: collection.outdated,
  createdAt: new Date(collection.createdAt).toISOString(),
  refreshedAt: collection.refreshedAt === undefined ? null : new Date(collection.refreshedAt).toISOString(),
});

export const COLLECTION_COLUMNS = [
  'NAME',
  'DOCUMENTS',
  'PASSAGES',
  'VECTORS',
  'WORKSPACE',
  'REGION',
  'DOMAIN',
  'REFRESHED',
  'FROM',
];

/** Creates a table row for COLLECTION_COLUMNS. */
export function createCollectionRow(collection: ListedCollection): readonly string[] {
  const { refreshedAt, sources } = collection;
  const [first, ...others] = sources.map(getSourceAddress);
  return [
    collection.name,
    String(collection.documents),
    String(collection.passages),
    describeVectors(collection),
    collection.workspace ?? 'all',
    collection.region ?? 'all',
    collection.domain ?? '',
    refreshedAt === undefined ? 'incomplete' : new Date(refreshedAt).toISOString(),
    `${first ?? ''}${others.length > 0 ? ` and ${others.length} more` : ''}`,
  ];
}

/** Describes a share of documents with vectors, with which a collection is ranked once it is complete. */
const describeVectors = ({ vectors, documents }: ListedCollection): string =>
  vectors === 0 || vectors >= documents ? String(vectors) : `${vectors} of ${documents}`;

/** Describes what to do about outdated documents; undefined without any. */
export function describeOutdated(collections: readonly ListedCollection[]): string | undefined {
  const outdated = collections.filter((collection) => collection.outdated > 0);
  if (outdated.length === 0) return undefined;
  const counts = outdated.map((collection) => `${collection.name}: ${collection.outdated} documents`).join(', ');
  return (
    `Terms of an earlier version (${counts}): questions do not find these documents by all of their words. ` +
    'A running service updates them; `parley index refresh` does it at once.'
  );
}

/** Describes the progress of a refresh, e.g. `120 of 300 with vectors (40 %): Chapter 5`. */
export function describeProgress({ step, done, total, reference }: RefreshProgress): string {
  if (step === 'reading') return `${done} read: ${reference}`;
  const share = total === undefined ? '' : ` of ${total}`;
  const percent = total === undefined ? '' : ` (${Math.floor((100 * done) / total)} %)`;
  return `searchable by words; ${done}${share} with vectors${percent}: ${reference}`;
}

const getSourceAddress = (source: IndexSource): string => (source.type === 'url' ? source.url : source.path);

/** Formats a report, e.g. `3 added, 1 changed, 200 unchanged; skipped: 2 hidden`. */
export function describeReport({ skipped, ...report }: RefreshReport): string {
  const counts = (['added', 'changed', 'unchanged', 'removed', 'failed'] as const)
    .filter((each) => report[each] > 0)
    .map((each) => `${report[each]} ${each === 'failed' ? 'failed' : each}`);
  if (report.vectors > 0) counts.push(`${report.vectors} with new vectors`);
  const names = {
    hidden: 'hidden',
    links: 'links',
    otherKinds: 'of unsupported types',
    tooDeep: 'nested too deeply',
  } as const;
  const skippedCounts = (['hidden', 'links', 'otherKinds', 'tooDeep'] as const)
    .filter((each) => skipped[each] > 0)
    .map((each) => `${skipped[each]} ${names[each]}`);
  return `${counts.join(', ') || 'no documents'}${skippedCounts.length > 0 ? `; skipped: ${skippedCounts.join(', ')}` : ''}`;
}
