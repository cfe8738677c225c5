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

/** Returns the unused notes of a section. After the last section: all unused notes. */
export function listUnusedNotes(state: ResearchState, section: number): readonly CollectedNote[] {
  const isLast = section >= (state.plan?.sections.length ?? 0);
  return state.notes.filter(
    (note) => !note.isAside && (isLast || note.section === section) && !state.usedNotes.has(note.id),
  );
}

/** Maximum share of a report about related subjects. */
const ASIDES_SHARE_MAX = 0.35;

/**
 * Returns the notes about related subjects when they can fill the missing tokens, and none otherwise: a report that
 * stays too short is not padded.
 */
export function listUnusedAsides(
  { notes, usedNotes, tokens }: ResearchState,
  tokensMissing: number,
): readonly CollectedNote[] {
  const asides = notes.filter(({ id, isAside }) => isAside && !usedNotes.has(id));
  const canFill =
    tokensMissing <= ASIDES_SHARE_MAX * (tokens + tokensMissing) && estimateNotesTokens(asides) >= tokensMissing;
  return canFill ? asides : [];
}

const SAMPLE_MARK = ' [[10]]';

export const estimateNoteTokens = ({ sentences }: CollectedNote): number =>
  estimateTokens(sentences.map((sentence) => sentence + SAMPLE_MARK).join(' '));

const estimateNotesTokens = (notes: readonly CollectedNote[]): number =>
  notes.reduce((sum, note) => sum + estimateNoteTokens(note), 0);
