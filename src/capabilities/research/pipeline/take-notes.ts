import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { RESEARCH_QUERY_NOTES_MAX, RESEARCH_SCORED_STATEMENTS_MAX, RESEARCH_SITE_NOTES_MAX } from './limits.ts';
import { createPassage } from '../../../generation/citations/passage.ts';
import type { Note } from './step-record.ts';
import type { SentenceIndex } from './sentence-index.ts';
import { extractStatements } from './page-statements.ts';
import { scorePages, extractWords } from './page-relevance.ts';
import type { FetchedSite } from './page-relevance.ts';
import { createStatementScorer } from './statement-scorer.ts';
import type { NoteCandidate } from './statement-scorer.ts';
import type { RelevanceTerms } from './relevance-terms.ts';

export interface NoteSelection {
  /** Ordered by site and position. */
  readonly notes: readonly Note[];
  readonly contexts: readonly string[];
}

/**
 * Takes the most relevant statements of the sites as notes, verbatim. Each statement passes the citation check against
 * the fetched text. Yields to the event loop between pages, because a long page takes some ten milliseconds.
 *
 * @param sites Best first.
 * @param sentenceIndex Sentences of earlier notes. The new ones are added.
 */
export async function takeNotes(
  sites: readonly FetchedSite[],
  relevanceTerms: RelevanceTerms,
  sentenceIndex: SentenceIndex,
  scoreTexts: ScoreTexts = async () => undefined,
): Promise<NoteSelection> {
  const relevances = scorePages(sites, relevanceTerms);
  const candidates: NoteCandidate[] = [];
  for (const [rank, site] of sites.entries()) {
    if (!relevances.has(site.number)) continue;
    for (const unit of extractStatements(site.passage))
      candidates.push({ ...unit, site, rank, words: extractWords(unit.sentences.join(' ')) });
    await yieldToEventLoop();
  }
  const score = createStatementScorer(relevanceTerms, candidates);
  const ranked = await blendScores(
    candidates
      .map((unit) => ({ unit, score: score(unit) }))
      .filter((each) => each.score > 0)
      .toSorted(compareScored),
    relevanceTerms.questionText,
    scoreTexts,
  );

  const contexts: string[] = [];
  const notes: Note[] = [];
  const counts = new Map<number, number>();
  const passages = new Map<number, ReturnType<typeof createPassage>>();
  for (const { unit, score: points } of ranked) {
    if (notes.length >= RESEARCH_QUERY_NOTES_MAX) break;
    const { number, passage } = unit.site;
    const count = counts.get(number) ?? 0;
    if (count >= RESEARCH_SITE_NOTES_MAX) continue;
    let source = passages.get(number);
    if (!source) {
      await yieldToEventLoop();
      source = createPassage(passage);
      passages.set(number, source);
    }
    const sentences = takeWhile(
      unit.sentences,
      (each) => !sentenceIndex.hasSimilar(each) && source.compareSentence(each).isSupported,
    );
    if (sentences.length === 0) continue;
    for (const sentence of sentences) sentenceIndex.add(sentence);
    counts.set(number, count + 1);
    if (!contexts.includes(unit.context)) contexts.push(unit.context);
    const context = contexts.indexOf(unit.context);
    notes.push({ site: number, at: unit.at, sentences, context, score: Number(points.toFixed(4)) });
  }
  return { notes: notes.toSorted((a, b) => a.site - b.site || a.at - b.at), contexts };
}

/** Scores texts by how closely they match a question; undefined when no model is ready. */
export type ScoreTexts = (question: string, texts: readonly string[]) => Promise<readonly number[] | undefined>;

interface ScoredStatement {
  readonly unit: NoteCandidate;
  readonly score: number;
}

const compareScored = (a: ScoredStatement, b: ScoredStatement): number =>
  b.score - a.score || a.unit.rank - b.unit.rank || a.unit.at - b.unit.at;

/** Share of a score that a model decides: the score of a statement is reduced the further it is from the best one. */
const MODEL_SHARE = 0.5;

/** Lets a model reorder the best statements. The words have decided which of them are on the question. */
async function blendScores(
  ranked: readonly ScoredStatement[],
  question: string,
  scoreTexts: ScoreTexts,
): Promise<readonly ScoredStatement[]> {
  const best = ranked.slice(0, RESEARCH_SCORED_STATEMENTS_MAX);
  const texts = best.map(({ unit }) => [unit.headings.split('\n').at(-1), ...unit.sentences].join(' '));
  const scores = texts.length === 0 ? undefined : await scoreTexts(question, texts);
  const most = Math.max(0, ...(scores ?? []));
  if (!scores || most === 0) return ranked;
  return best
    .map(({ unit, score }, at) => {
      const closeness = Math.max(0, scores[at] ?? 0) / most;
      return { unit, score: score * (1 - MODEL_SHARE + MODEL_SHARE * closeness) };
    })
    .toSorted(compareScored);
}

function takeWhile<Item>(items: readonly Item[], isGood: (item: Item) => boolean): readonly Item[] {
  const end = items.findIndex((item) => !isGood(item));
  return end < 0 ? items : items.slice(0, end);
}
