import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { FullText } from './dialects/full-text.ts';
import { hostKey } from './index-documents.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';

/** Which documents may be found. */
export interface IndexScope {
  /** Its own collections, and those that are everybody's. */
  readonly workspace: string;
  /** `plain`: of collections without a domain; `domains`: of those that have one. */
  readonly of: 'plain' | 'domains';
  /** UTC milliseconds: nothing older, and nothing of which nobody knows how old it is. */
  readonly since?: number | undefined;
  /** Hosts, with what is under them. Present: nothing from elsewhere. */
  readonly sites?: readonly string[] | undefined;
  readonly blockedSites?: readonly string[] | undefined;
}

/** The best passage of a document. */
export interface IndexMatch {
  readonly document: number;
  readonly passage: number;
  /** BM25: the higher the better. */
  readonly score: number;
}

export interface IndexedVectors {
  readonly document: number;
  readonly firstPassage: number;
  readonly dimensions: number;
  readonly vectors: Uint8Array;
}

/** A passage with what is known of its document. */
export interface IndexedPassage {
  readonly passage: number;
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
  /** Documents that have one of the terms, the best first. */
  match(terms: readonly string[], scope: IndexScope, limit: number): Promise<readonly IndexMatch[]>;
  /** How many passages there are in all, and how many have each term. */
  counts(terms: readonly string[]): Promise<{ readonly passages: number; readonly having: readonly number[] }>;
  /** Vectors of a model, by document. */
  vectors(
    model: string,
    scope: IndexScope,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly IndexedVectors[]>;
  /** Those that are there, by number. What is out of the scope is not. */
  read(passages: readonly number[], scope: IndexScope): Promise<ReadonlyMap<number, IndexedPassage>>;
  /** The first passages of a document of that address, in order; where several collections have one, of what was indexed last. */
  readDocument(url: string, scope: IndexScope, limit: number): Promise<readonly IndexedPassage[]>;
}

export function createIndexSearchStore(db: Kysely<Database>, run: Run, fullText: FullText): IndexSearchStore {
  return {
    match: (terms, scope, limit) =>
      run(async () => {
        if (terms.length === 0) return [];
        const { rows } = await sql<{ document: unknown; passage: unknown; score: unknown }>`
          with scored as materialized (${fullText.scored(terms)})
          select document, passage, score from (
            select p.document as document, s.passage as passage, s.score as score,
              row_number() over (partition by p.document order by s.score desc, s.passage) as place
            from scored as s
            join index_passages as p on p.id = s.passage
            join index_documents as d on d.id = p.document
            join index_collections as c on c.name = d.collection
            where ${inScope(scope)}
          ) as ranked
          where place = 1 order by score desc, document limit ${limit}`.execute(db);
        return rows.map(({ document, passage, score }) => ({
          document: Number(document),
          passage: Number(passage),
          score: Number(score),
        }));
      }),
    counts: (terms) => run(async () => await fullText.counts(db, terms)),
    vectors: (model, scope, { after, limit }) =>
      run(async () => {
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
          where v.model = ${model} and v.document > ${after} and ${inScope(scope)}
          order by v.document limit ${limit}`.execute(db);
        return rows.map(({ document, first, dimensions, vectors }) => ({
          document: Number(document),
          firstPassage: Number(first),
          dimensions,
          vectors,
        }));
      }),
    read: (passages, scope) =>
      run(async () => {
        if (passages.length === 0) return new Map();
        const { rows } = await sql<PassageRow>`
          ${PASSAGES} where p.id in (${sql.join(passages)}) and ${inScope(scope)}`.execute(db);
        return new Map(rows.map((row) => [Number(row.id), decode(row)]));
      }),
    readDocument: (url, scope, limit) =>
      run(async () => {
        const { rows } = await sql<PassageRow>`
          ${PASSAGES} where d.id = (
            select d.id from index_documents as d
            join index_collections as c on c.name = d.collection
            where d.url = ${url} and ${inScope(scope)} order by d.indexed_at desc, d.id desc limit 1
          ) order by p.id limit ${limit}`.execute(db);
        return rows.map(decode);
      }),
  };
}

const PASSAGES = sql`
  select p.id as id, p.text as text, d.url as url, d.title as title, d.site_name as site, d.icon as icon,
    d.published_at as published, d.hash as hash, c.domain as domain
  from index_passages as p
  join index_documents as d on d.id = p.document
  join index_collections as c on c.name = d.collection`;

interface PassageRow {
  readonly id: unknown;
  readonly text: string;
  readonly url: string;
  readonly title: string;
  readonly site: string;
  readonly icon: string;
  readonly published: unknown;
  readonly hash: string;
  readonly domain: string | null;
}

const decode = ({ id, text, url, title, site, icon, published, hash, domain }: PassageRow): IndexedPassage => ({
  passage: Number(id),
  text,
  url,
  title,
  siteName: site,
  icon,
  publishedAt: published === null ? undefined : Number(published),
  hash,
  domain: domain ?? undefined,
});

/** Of a document `d` of a collection `c`. */
function inScope({ workspace, of, since, sites, blockedSites = [] }: IndexScope): RawBuilder<unknown> {
  const rules = [
    sql`(c.workspace is null or c.workspace = ${workspace})`,
    of === 'plain' ? sql`c.domain is null` : sql`c.domain is not null`,
    ...(since === undefined ? [] : [sql`d.published_at >= ${since}`]),
    ...(sites === undefined
      ? []
      : [sites.length === 0 ? sql`1 = 0` : sql`(${sql.join(sites.map(isUnder), sql` or `)})`]),
    ...blockedSites.map((site) => sql`not ${isUnder(site)}`),
  ];
  return sql.join(rules, sql` and `);
}

/** No pattern, so that nothing in a host's name is one. */
const isUnder = (site: string): RawBuilder<unknown> => {
  const key = hostKey(site);
  return sql`(d.host <> '' and substr(d.host, 1, ${key.length}) = ${key})`;
};
