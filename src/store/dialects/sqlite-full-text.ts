import { sql } from 'kysely';
import type { FullTextIndex } from './full-text.ts';

/**
 * FTS5 table. Its ASCII tokenizer treats every non-ASCII character as a letter, so that terms stay as the caller split
 * them. The table stores the terms themselves (no contentless table): a contentless table keeps counting removed
 * passages.
 */
export const sqliteFullText: FullTextIndex = {
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
  selectScores: (terms) =>
    sql`select rowid as passage, -bm25(index_terms) as score from index_terms where index_terms match ${encodeAnyTerm(terms)}`,
  async countTerms(db, terms) {
    const { rows: all } = await sql<{ passages: number }>`select count(*) as passages from index_passages`.execute(db);
    const { rows } = await sql<{ term: string; doc: number }>`select term, doc from index_term_counts
      where term in (${sql.join(terms)})`.execute(db);
    const having = new Map(rows.map(({ term, doc }) => [term, doc]));
    return { passages: all[0]?.passages ?? 0, passagesByTerm: terms.map((term) => having.get(term) ?? 0) };
  },
};

/**
 * Quotes each term, so that no character of it is an operator of the query language; a quote inside is doubled. NUL
 * would end the query text; no stored term contains it.
 */
const encodeAnyTerm = (terms: readonly string[]): string =>
  terms.map((term) => `"${term.replaceAll('"', '""').replaceAll('\0', ' ')}"`).join(' OR ');
