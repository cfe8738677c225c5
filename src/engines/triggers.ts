import { TRIGGER_WINDOW_CHARS } from '../core/limits.ts';
import type { Phase, Trigger } from '../core/prompt.ts';

/** Where a trigger matched. */
export interface TriggerHit {
  /** End of the match, in characters of the piece. */
  readonly end: number;
  /** The phase it leads to. */
  readonly phase: number;
}

/** The triggers of a request's phases, compiled when a phase is first looked at. */
export interface Triggers {
  /**
   * The match that ends first inside a new piece of a phase's output; of several, that of the first trigger.
   * @param before Output of the phase before the piece; its last TRIGGER_WINDOW_CHARS matter.
   */
  find(phase: number, before: string, piece: string): TriggerHit | undefined;
}

interface Compiled {
  readonly order: number;
  readonly pattern: RegExp;
  readonly phase: number;
}

/** Triggers by the last character of whatever they match; those of which it is not known under ''. */
type ByLast = ReadonlyMap<string, readonly Compiled[]>;

export function createTriggers(phases: readonly Phase[]): Triggers {
  const compiled = new Map<number, ByLast>();
  const compiledOf = (phase: number, triggers: readonly Trigger[]): ByLast => {
    const known = compiled.get(phase) ?? compile(triggers);
    compiled.set(phase, known);
    return known;
  };
  return {
    find(phase, before, piece) {
      const triggers = phases[phase]?.triggers;
      if (!triggers || triggers.length === 0 || piece === '') return undefined;
      const byLast = compiledOf(phase, triggers);
      const anywhere = byLast.get('') ?? [];
      const text = before.slice(-TRIGGER_WINDOW_CHARS) + piece;
      const start = text.length - piece.length;
      for (let end = start + 1; end <= text.length; end++) {
        const unit = text.charAt(end - 1);
        const candidates = byLast.get(unit);
        if ((!candidates && anywhere.length === 0) || isHighSurrogate(unit)) continue;
        const window = text.slice(Math.max(0, end - TRIGGER_WINDOW_CHARS), end);
        const hit = firstOf(candidates ?? [], anywhere, window);
        if (hit) return { end: end - start, phase: hit.phase };
      }
      return undefined;
    },
  };
}

/** @throws SyntaxError for a pattern that is none. */
export const compileTrigger = (pattern: string): RegExp => new RegExp(`(?:${pattern})$`, 'u');

function compile(triggers: readonly Trigger[]): ByLast {
  const byLast = new Map<string, Compiled[]>();
  for (const [order, { pattern, phase }] of triggers.entries()) {
    const last = lastUnit(pattern);
    byLast.set(last, [...(byLast.get(last) ?? []), { order, pattern: compileTrigger(pattern), phase }]);
  }
  return byLast;
}

/** Both lists are in the order of the request. */
function firstOf(some: readonly Compiled[], others: readonly Compiled[], window: string): Compiled | undefined {
  const one = some.find(({ pattern }) => pattern.test(window));
  const other = others.find(({ pattern }) => pattern.test(window));
  return one && other ? (one.order < other.order ? one : other) : (one ?? other);
}

const isHighSurrogate = (unit: string): boolean => unit >= '\ud800' && unit <= '\udbff';

/** The pieces of a regular expression: escapes, classes and quantifiers in braces whole, the rest character by character. */
const ATOMS = /\\(?:u\{[^}]*\}|u.{4}|x..|c.|k<[^>]*>|p\{[^}]*\}|P\{[^}]*\}|\d+|.)|\[(?:\\.|[^\]\\])*\]|\{[^}]*\}|[^]/gu;

/**
 * The code unit with which every match of the pattern ends, or '' when that is not plain to see. With it a trigger is
 * tried only where it can end: a request may have hundreds.
 */
function lastUnit(pattern: string): string {
  let depth = 0;
  let last = '';
  for (const [atom] of pattern.matchAll(ATOMS)) {
    if (atom === '(') depth++;
    else if (atom === ')') depth--;
    else if (atom === '|' && depth === 0) return '';
    last = atom;
  }
  const literal = /^\\[^a-zA-Z0-9]$/u.test(last) ? last.slice(1) : /^[^\\^$.*+?()[\]{}|]$/u.test(last) ? last : '';
  return literal.slice(-1);
}
