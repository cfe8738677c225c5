import { estimatedTokens } from './count-tokens.ts';
import type { HeldNote, ResearchState } from './state.ts';

/** Tokens that the rest of a report is shared out in: evenly, and what a part has no notes for goes to the others. */
export function shareOut(tokens: number, capacities: readonly number[]): readonly number[] {
  const shares = capacities.map(() => 0);
  const open = [...capacities.keys()].toSorted((a, b) => (capacities[a] ?? 0) - (capacities[b] ?? 0));
  let left = tokens;
  for (const [place, at] of open.entries()) {
    const share = Math.min(capacities[at] ?? 0, left / (open.length - place));
    shares[at] = share;
    left -= share;
  }
  return shares;
}

/**
 * Tokens that a part of the report may still take.
 *
 * @param wished Of the whole report.
 */
export function sectionRoom(state: ResearchState, section: number, wished: number): number {
  const sections = state.plan?.sections.length ?? 0;
  const written = section === state.section ? state.sectionTokens : 0;
  const parts = Array.from({ length: Math.max(0, sections - section) }, (_, at) => section + at);
  const capacities = parts.map((part) => capacityOf(notesLeft(state, part)) + (part === section ? written : 0));
  const [share = 0] = shareOut(wished - state.tokens + written, capacities);
  return share - written;
}

/** Those that were looked for for a part and are not said; behind the last part, all that are not said. */
export function notesLeft(state: ResearchState, section: number): readonly HeldNote[] {
  const isLast = section >= (state.plan?.sections.length ?? 0);
  return state.notes.filter(
    (note) => !note.isAside && (isLast || note.section === section) && !state.used.has(note.id),
  );
}

/** Ours: of a report, what may be about something near its topic. */
const ASIDES_SHARE_MAX = 0.35;

/**
 * What is near the topic, where a report that lacks so many tokens gets its size by it; a report that stays too short is not
 * padded.
 */
export function asidesLeft({ notes, used, tokens }: ResearchState, lacking: number): readonly HeldNote[] {
  const asides = notes.filter(({ id, isAside }) => isAside && !used.has(id));
  const isFilled = lacking <= ASIDES_SHARE_MAX * (tokens + lacking) && capacityOf(asides) >= lacking;
  return isFilled ? asides : [];
}

const MARK = ' [[10]]';

export const tokensOfNote = ({ sentences }: HeldNote): number =>
  estimatedTokens(sentences.map((sentence) => sentence + MARK).join(' '));

const capacityOf = (notes: readonly HeldNote[]): number => notes.reduce((sum, note) => sum + tokensOfNote(note), 0);
