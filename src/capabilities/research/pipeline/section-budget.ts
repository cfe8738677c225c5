import { estimateTokens } from './token-counter.ts';
import type { CollectedNote, ResearchState } from './state.ts';

/** Distributes tokens evenly. Tokens that a section cannot fill go to the others. */
export function distributeTokens(tokens: number, capacities: readonly number[]): readonly number[] {
  const shares = capacities.map(() => 0);
  const byCapacity = [...capacities.keys()].toSorted((a, b) => (capacities[a] ?? 0) - (capacities[b] ?? 0));
  let left = tokens;
  for (const [rank, at] of byCapacity.entries()) {
    const share = Math.min(capacities[at] ?? 0, left / (byCapacity.length - rank));
    shares[at] = share;
    left -= share;
  }
  return shares;
}

/**
 * Returns the tokens that a section may still use.
 *
 * @param reportTokens Target length of the whole report.
 */
export function getSectionBudget(state: ResearchState, section: number, reportTokens: number): number {
  const sections = state.plan?.sections.length ?? 0;
  const written = section === state.section ? state.sectionTokens : 0;
  const parts = Array.from({ length: Math.max(0, sections - section) }, (_, at) => section + at);
  const capacities = parts.map(
    (part) => estimateNotesTokens(listUnusedNotes(state, part)) + (part === section ? written : 0),
  );
  const [share = 0] = distributeTokens(reportTokens - state.tokens + written, capacities);
  return share - written;
}

/** Least score of a note in a report, relative to the best note: length targets do not lower it. */
const SCORE_OF_BEST_MIN = 0.55;

/** Returns the unused relevant notes of a section. After the last section: all of them. */
export function listUnusedNotes({ plan, notes, usedNotes }: ResearchState, section: number): readonly CollectedNote[] {
  const isLast = section >= (plan?.sections.length ?? 0);
  const least = SCORE_OF_BEST_MIN * Math.max(0, ...notes.map(({ score }) => score));
  return notes.filter((note) => note.score >= least && (isLast || note.section === section) && !usedNotes.has(note.id));
}

const SAMPLE_MARK = ' [[10]]';

export const estimateNoteTokens = ({ sentences }: CollectedNote): number =>
  estimateTokens(sentences.map((sentence) => sentence + SAMPLE_MARK).join(' '));

const estimateNotesTokens = (notes: readonly CollectedNote[]): number =>
  notes.reduce((sum, note) => sum + estimateNoteTokens(note), 0);
