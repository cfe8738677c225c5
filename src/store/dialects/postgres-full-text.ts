import { sql, type RawBuilder } from 'kysely';
import { BM25, type FullText } from './full-text.ts';

/** Positions that a `tsvector` counts to; beyond, all have the last one. */
const POSITION_MAX = 16_383;

/**
 * `tsvector` with an inverted index. Vectors are written down as they are and not parsed out of a text, so that no rule of a
 * language changes a term. Ranking of its own knows nothing of how rare a term is: BM25 is worked out here.
 */
export const postgresFullText: FullText = {
  async create(db) {
    await sql`create table index_terms (passage bigint primary key, length integer not null, terms tsvector not null)`.execute(
      db,
    );
    await sql`create index index_terms_inverted on index_terms using gin (terms)`.execute(db);
  },
  async add(db, rows) {
    if (rows.length === 0) return;
    const values = rows.map(
      ({ passage, terms }) => sql`(${passage}::bigint, ${terms.length}::integer, ${vectorOf(terms)}::tsvector)`,
    );
    await sql`insert into index_terms (passage, length, terms) values ${sql.join(values)}`.execute(db);
  },
  async remove(db, { first, last }) {
    await sql`delete from index_terms where passage between ${first} and ${last}`.execute(db);
  },
  scored: (terms) => sql`
    select hits.passage as passage,
      sum(
        weights.weight * hits.times * (${BM25.k1}::float8 + 1)
        / (hits.times + ${BM25.k1}::float8 * (1 - ${BM25.b}::float8 + ${BM25.b}::float8 * hits.length / everything.length))
      ) as score
    from (
      select index_terms.passage, index_terms.length, entry.lexeme, cardinality(entry.positions)::float8 as times
      from index_terms, unnest(index_terms.terms) as entry
      where index_terms.terms @@ ${anyOf(terms)}::tsquery and entry.lexeme in (${sql.join(terms)})
    ) as hits
    join (
      select wanted.term,
        case when counted.passages > wanted.having * 2
          then ln((counted.passages - wanted.having + 0.5) / (wanted.having + 0.5)) else 0.000001 end::float8 as weight
      from (${havingEach(terms)}) as wanted, (select count(*)::float8 as passages from index_terms) as counted
    ) as weights on weights.term = hits.lexeme,
    (select avg(length)::float8 as length from index_terms) as everything
    group by hits.passage`,
  async counts(db, terms) {
    const { rows: all } = await sql<{
      passages: unknown;
    }>`select count(*) as passages from index_terms`.execute(db);
    const { rows } = await sql<{ term: string; having: unknown }>`${havingEach(terms)}`.execute(db);
    const having = new Map(rows.map((row) => [row.term, Number(row.having)]));
    return { passages: Number(all[0]?.passages ?? 0), having: terms.map((term) => having.get(term) ?? 0) };
  },
};

const havingEach = (terms: readonly string[]): RawBuilder<unknown> =>
  sql.join(
    terms.map(
      (term) =>
        sql`select ${term}::text as term, (select count(*) from index_terms where terms @@ ${quoted(term)}::tsquery)::float8 as having`,
    ),
    sql` union all `,
  );

/** In quotes each is a word and nothing of the query language, whoever wrote it. */
const quoted = (term: string): string => `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

const anyOf = (terms: readonly string[]): string => terms.map(quoted).join(' | ');

function vectorOf(terms: readonly string[]): string {
  const positions = new Map<string, number[]>();
  for (const [at, term] of terms.entries()) {
    const known = positions.get(term);
    if (known) known.push(at + 1);
    else positions.set(term, [at + 1]);
  }
  return [...positions]
    .map(([term, places]) => `${quoted(term)}:${places.map((place) => Math.min(place, POSITION_MAX)).join(',')}`)
    .join(' ');
}
