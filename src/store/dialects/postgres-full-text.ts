import { sql, type RawBuilder } from 'kysely';
import { BM25, type FullTextIndex } from './full-text.ts';

/** Largest position in a `tsvector`, by Postgres; all later words share it. */
const POSITION_MAX = 16_383;

/**
 * `tsvector` column with an inverted (GIN) index. Vectors are written literally instead of being parsed from text, so
 * that no language rule changes a term. Postgres' ranking ignores how rare a term is; therefore the query computes
 * BM25.
 */
export const postgresFullText: FullTextIndex = {
  async create(db) {
    await sql`create table index_terms (passage bigint primary key, length integer not null, terms tsvector not null)`.execute(
      db,
    );
    await sql`create index index_terms_inverted on index_terms using gin (terms)`.execute(db);
  },
  async add(db, rows) {
    if (rows.length === 0) return;
    const values = rows.map(
      ({ passage, terms }) => sql`(${passage}::bigint, ${terms.length}::integer, ${encodeVector(terms)}::tsvector)`,
    );
    await sql`insert into index_terms (passage, length, terms) values ${sql.join(values)}`.execute(db);
  },
  async remove(db, { first, last }) {
    await sql`delete from index_terms where passage between ${first} and ${last}`.execute(db);
  },
  selectScores: (terms) => sql`
    select hits.passage as passage,
      sum(
        weights.weight * hits.times * (${BM25.k1}::float8 + 1)
        / (hits.times + ${BM25.k1}::float8 * (1 - ${BM25.b}::float8 + ${BM25.b}::float8 * hits.length / everything.length))
      ) as score
    from (
      select index_terms.passage, index_terms.length, entry.lexeme, cardinality(entry.positions)::float8 as times
      from index_terms, unnest(index_terms.terms) as entry
      where index_terms.terms @@ ${encodeAnyTerm(terms)}::tsquery and entry.lexeme in (${sql.join(terms)})
    ) as hits
    join (
      select queried.term,
        case when counted.passages > queried.having * 2
          then ln((counted.passages - queried.having + 0.5) / (queried.having + 0.5)) else 0.000001 end::float8 as weight
      from (${selectPassageCounts(terms)}) as queried, (select count(*)::float8 as passages from index_terms) as counted
    ) as weights on weights.term = hits.lexeme,
    (select avg(length)::float8 as length from index_terms) as everything
    group by hits.passage`,
  async countTerms(db, terms) {
    const { rows: all } = await sql<{
      passages: unknown;
    }>`select count(*) as passages from index_terms`.execute(db);
    const { rows } = await sql<{ term: string; having: unknown }>`${selectPassageCounts(terms)}`.execute(db);
    const having = new Map(rows.map((row) => [row.term, Number(row.having)]));
    return { passages: Number(all[0]?.passages ?? 0), passagesByTerm: terms.map((term) => having.get(term) ?? 0) };
  },
};

const selectPassageCounts = (terms: readonly string[]): RawBuilder<unknown> =>
  sql.join(
    terms.map(
      (term) =>
        sql`select ${term}::text as term, (select count(*) from index_terms where terms @@ ${quoteTerm(term)}::tsquery)::float8 as having`,
    ),
    sql` union all `,
  );

/** Quotes a term, so that no character of it is an operator of the query language. */
const quoteTerm = (term: string): string => `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

const encodeAnyTerm = (terms: readonly string[]): string => terms.map(quoteTerm).join(' | ');

function encodeVector(terms: readonly string[]): string {
  const positions = new Map<string, number[]>();
  for (const [at, term] of terms.entries()) {
    const occurrences = positions.get(term);
    if (occurrences) occurrences.push(at + 1);
    else positions.set(term, [at + 1]);
  }
  return [...positions]
    .map(([term, at]) => `${quoteTerm(term)}:${at.map((position) => Math.min(position, POSITION_MAX)).join(',')}`)
    .join(' ');
}
