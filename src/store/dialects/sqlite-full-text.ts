import { sql } from 'kysely';
import type { FullText } from './full-text.ts';

/**
 * FTS5. Its ASCII tokenizer takes everything beyond ASCII for a letter, so that what was split above stays as it is. It keeps
 * the terms once more in their order: without them it goes on counting passages that were removed.
 */
export const sqliteFullText: FullText = {
  async create(db) {
    await sql`create virtual table index_terms
      using fts5(terms, tokenize = 'ascii')`.execute(db);
    await sql`create virtual table index_term_counts using fts5vocab(index_terms, row)`.execute(db);
  },
  async add(db, rows) {
    for (const { passage, terms } of rows)
      await sql`insert into index_terms (rowid, terms) values (${passage}, ${terms.join(' ')})`.execute(db);
  },
  async remove(db, { first, last }) {
    await sql`delete from index_terms where rowid between ${first} and ${last}`.execute(db);
  },
  scored: (terms) =>
    sql`select rowid as passage, -bm25(index_terms) as score from index_terms where index_terms match ${anyOf(terms)}`,
  async counts(db, terms) {
    const { rows: all } = await sql<{ passages: number }>`select count(*) as passages from index_passages`.execute(db);
    const { rows } = await sql<{ term: string; doc: number }>`select term, doc from index_term_counts
      where term in (${sql.join(terms)})`.execute(db);
    const having = new Map(rows.map(({ term, doc }) => [term, doc]));
    return { passages: all[0]?.passages ?? 0, having: terms.map((term) => having.get(term) ?? 0) };
  },
};

/**
 * In quotes each is a word and nothing of the query language, whoever wrote it; a quote inside is written twice. NUL would end
 * the question: no term that is kept has one.
 */
const anyOf = (terms: readonly string[]): string =>
  terms.map((term) => `"${term.replaceAll('"', '""').replaceAll('\0', ' ')}"`).join(' OR ');
