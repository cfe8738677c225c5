import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { FullTextIndex } from './dialects/full-text.ts';
import { hostToKey } from './index-documents.ts';
import type { Database } from './schema/database.ts';
import type { TenantScope } from './tenant-scope.ts';

/** Restricts which documents a search may find. */
export interface IndexSearchFilter {
  /** Finds the collections of this workspace in its region, and those of all. */
  readonly tenant: TenantScope;
  /** `plain`: only collections without a domain; `domains`: only collections with one. */
  readonly collections: 'plain' | 'domains';
  /** UTC milliseconds; documents that are older or have no date are left out. */
  readonly since?: number | undefined;
  /** Hosts including their subdomains; if present, other documents are left out. */
  readonly sites?: readonly string[] | undefined;
  readonly blockedSites?: readonly string[] | undefined;
}

/** A passage that a search found. */
export interface IndexMatch {
  readonly document: number;
  readonly passage: number;
  /** BM25 score: higher is better. */
  readonly score: number;
}

/** Vectors of the passages of a document. */
export interface DocumentVectors {
  readonly document: number;
  readonly firstPassage: number;
  readonly dimensions: number;
  readonly vectors: Uint8Array;
}

/** A passage with metadata of its document. */
export interface PassageRecord {
  readonly passage: number;
  readonly document: number;
  readonly collection: string;
  /** First passage of the document, and the number of its passages. */
  readonly firstPassage: number;
  readonly passages: number;
  readonly text: string;
  readonly url: string;
  readonly title: string;
  readonly siteName: string;
  readonly icon: string;
  readonly publishedAt: number | undefined;
  readonly hash: string;
  readonly domain: string | undefined;
}

export interface IndexSearchStore {
  /** Returns whether there is a document that this tenant may find; any document without a tenant. */
  hasDocuments(tenant?: TenantScope): Promise<boolean>;
  /**
   * Finds documents with at least one of the terms, best first, with their best passages. The score of a document is that
   * of its best passage and shares of those of the next two: a document about the terms has them in several places.
   */
  matchTerms(terms: readonly string[], filter: IndexSearchFilter, limit: number): Promise<readonly IndexMatch[]>;
  /** Finds up to `limit` passages of each of the documents with at least one of the terms, best first. */
  matchPassages(terms: readonly string[], documents: readonly number[], limit: number): Promise<readonly IndexMatch[]>;
  /** Counts all passages, and the passages that contain each term. */
  countTerms(
    terms: readonly string[],
  ): Promise<{ readonly passages: number; readonly passagesByTerm: readonly number[] }>;
  /** Lists the collections of which some documents that match the filter have no vectors of the model. */
  listIncompleteCollections(model: string, filter: IndexSearchFilter): Promise<readonly string[]>;
  /** Lists vectors of a model by document, without those of the named collections. */
  listVectors(
    model: string,
    filter: IndexSearchFilter & { readonly excludedCollections: readonly string[] },
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly DocumentVectors[]>;
  /** Returns the passages that exist and match the filter, by number. */
  readPassages(passages: readonly number[], filter: IndexSearchFilter): Promise<ReadonlyMap<number, PassageRecord>>;
  /** Returns the first passages of the document with this URL, in order; of several, of the last indexed one. */
  readDocument(url: string, filter: IndexSearchFilter, limit: number): Promise<readonly PassageRecord[]>;
}

export function createIndexSearchStore(db: Kysely<Database>, fullText: FullTextIndex): IndexSearchStore {
  return {
    async hasDocuments(tenant) {
      const visible = tenant === undefined ? sql`1 = 1` : encodeTenantCondition(tenant);
      const { rows } = await sql`
        select 1 from index_documents as d join index_collections as c on c.name = d.collection
        where ${visible} limit 1`.execute(db);
      return rows.length > 0;
    },
    async matchTerms(terms, filter, limit) {
      if (terms.length === 0) return [];
      const { rows } = await sql<MatchRow>`
        select document, max(case when rank = 1 then passage end) as passage,
          sum(score * case rank when 1 then 1.0 when 2 then 0.3 else 0.2 end) as score
        from (${selectRankedPassages(fullText.selectScores(terms), encodeFilter(filter))}) as ranked
        where rank <= 3 group by document order by score desc, document limit ${limit}`.execute(db);
      return rows.map(decodeMatch);
    },
    async matchPassages(terms, documents, limit) {
      if (terms.length === 0 || documents.length === 0) return [];
      const { rows } = await sql<MatchRow>`
        select document, passage, score
        from (${selectRankedPassages(fullText.selectScores(terms), sql`d.id in (${sql.join(documents)})`)}) as ranked
        where rank <= ${limit} order by score desc, passage`.execute(db);
      return rows.map(decodeMatch);
    },
    async listIncompleteCollections(model, filter) {
      const { rows } = await sql<{ collection: string }>`
        select distinct d.collection as collection from index_documents as d
        join index_collections as c on c.name = d.collection
        left join index_vectors as v on v.document = d.id and v.model = ${model}
        where v.document is null and ${encodeFilter(filter)}`.execute(db);
      return rows.map(({ collection }) => collection);
    },
    countTerms: (terms) => fullText.countTerms(db, terms),
    async listVectors(model, { excludedCollections, ...filter }, { after, limit }) {
      const isIncluded =
        excludedCollections.length === 0 ? sql`1 = 1` : sql`d.collection not in (${sql.join(excludedCollections)})`;
      const { rows } = await sql<{
        document: unknown;
        first: unknown;
        dimensions: number;
        vectors: Uint8Array;
      }>`
        select v.document as document, d.first_passage as first, v.dimensions as dimensions, v.vectors as vectors
        from index_vectors as v
        join index_documents as d on d.id = v.document
        join index_collections as c on c.name = d.collection
        where v.model = ${model} and v.document > ${after} and ${isIncluded} and ${encodeFilter(filter)}
        order by v.document limit ${limit}`.execute(db);
      return rows.map(({ document, first, dimensions, vectors }) => ({
        document: Number(document),
        firstPassage: Number(first),
        dimensions,
        vectors,
      }));
    },
    async readPassages(passages, filter) {
      if (passages.length === 0) return new Map();
      const { rows } = await sql<PassageRow>`
        ${SELECT_PASSAGES} where p.id in (${sql.join(passages)}) and ${encodeFilter(filter)}`.execute(db);
      return new Map(rows.map((row) => [Number(row.id), decode(row)]));
    },
    async readDocument(url, filter, limit) {
      const { rows } = await sql<PassageRow>`
        ${SELECT_PASSAGES} where d.id = (
          select d.id from index_documents as d
          join index_collections as c on c.name = d.collection
          where d.url = ${url} and ${encodeFilter(filter)} order by d.indexed_at desc, d.id desc limit 1
        ) order by p.id limit ${limit}`.execute(db);
      return rows.map(decode);
    },
  };
}

/** Selects the scored passages of the documents for which the condition holds, with their rank within their document. */
const selectRankedPassages = (scores: RawBuilder<unknown>, condition: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  with scored as materialized (${scores})
  select p.document as document, s.passage as passage, s.score as score,
    row_number() over (partition by p.document order by s.score desc, s.passage) as rank
  from scored as s
  join index_passages as p on p.id = s.passage
  join index_documents as d on d.id = p.document
  join index_collections as c on c.name = d.collection
  where ${condition}`;

interface MatchRow {
  readonly document: unknown;
  readonly passage: unknown;
  readonly score: unknown;
}

const decodeMatch = ({ document, passage, score }: MatchRow): IndexMatch => ({
  document: Number(document),
  passage: Number(passage),
  score: Number(score),
});

const SELECT_PASSAGES = sql`
  select p.id as id, p.document as document, d.collection as collection,
    d.first_passage as first, d.passages as passages, p.text as text, d.url as url, d.title as title, d.site_name as site, d.icon as icon,
    d.published_at as published, d.hash as hash, c.domain as domain
  from index_passages as p
  join index_documents as d on d.id = p.document
  join index_collections as c on c.name = d.collection`;

interface PassageRow {
  readonly id: unknown;
  readonly document: unknown;
  readonly collection: string;
  readonly first: unknown;
  readonly passages: number;
  readonly text: string;
  readonly url: string;
  readonly title: string;
  readonly site: string;
  readonly icon: string;
  readonly published: unknown;
  readonly hash: string;
  readonly domain: string | null;
}

const decode = ({
  id,
  document,
  collection,
  first,
  passages,
  text,
  url,
  title,
  site,
  icon,
  published,
  hash,
  domain,
}: PassageRow): PassageRecord => ({
  passage: Number(id),
  document: Number(document),
  collection,
  firstPassage: Number(first),
  passages,
  text,
  url,
  title,
  siteName: site,
  icon,
  publishedAt: published === null ? undefined : Number(published),
  hash,
  domain: domain ?? undefined,
});

const encodeTenantCondition = ({ region, workspace }: TenantScope): RawBuilder<unknown> =>
  sql`(c.workspace is null or c.workspace = ${workspace}) and (c.region is null or c.region = ${region})`;

/** Encodes the filter as a condition on document `d` of collection `c`. */
function encodeFilter({
  tenant,
  collections,
  since,
  sites,
  blockedSites = [],
}: IndexSearchFilter): RawBuilder<unknown> {
  const rules = [
    encodeTenantCondition(tenant),
    collections === 'plain' ? sql`c.domain is null` : sql`c.domain is not null`,
    ...(since === undefined ? [] : [sql`d.published_at >= ${since}`]),
    ...(sites === undefined
      ? []
      : [sites.length === 0 ? sql`1 = 0` : sql`(${sql.join(sites.map(encodeSiteCondition), sql` or `)})`]),
    ...blockedSites.map((site) => sql`not ${encodeSiteCondition(site)}`),
  ];
  return sql.join(rules, sql` and `);
}

/** Compares a prefix instead of using LIKE, so that no character of a host is a pattern. */
const encodeSiteCondition = (site: string): RawBuilder<unknown> => {
  const key = hostToKey(site);
  return sql`(d.host <> '' and substr(d.host, 1, ${key.length}) = ${key})`;
};
