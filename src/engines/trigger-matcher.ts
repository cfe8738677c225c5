import { TRIGGER_WINDOW_CHARS } from './limits.ts';
import type { GenerationPhase, PhaseTrigger } from '../core/prompt.ts';

/** A match of a trigger. */
export interface TriggerMatch {
  /** End of the match, in characters of the piece. */
  readonly end: number;
  /** Index of the phase that the trigger starts. */
  readonly phase: number;
}

/** Matches the triggers of a request's phases. The triggers of a phase are compiled on first use. */
export interface TriggerMatcher {
  /**
   * Returns the match that ends first inside a new piece of a phase's output. Among matches that end at the same
   * character, the trigger that comes first in the list wins.
   * @param before Output of the phase before the piece; only its last TRIGGER_WINDOW_CHARS characters matter.
   */
  find(phase: number, before: string, piece: string): TriggerMatch | undefined;
}

interface CompiledTrigger {
  readonly order: number;
  readonly pattern: RegExp;
  readonly phase: number;
}

/** Triggers by the last code unit of everything they match; the key '' holds triggers whose last unit is unknown. */
type TriggersByLastUnit = ReadonlyMap<string, readonly CompiledTrigger[]>;

export function createTriggerMatcher(phases: readonly GenerationPhase[]): TriggerMatcher {
  const triggersByPhase = new Map<number, TriggersByLastUnit>();
  const getCompiled = (phase: number, triggers: readonly PhaseTrigger[]): TriggersByLastUnit => {
    const compiledTriggers = triggersByPhase.get(phase) ?? compile(triggers);
    triggersByPhase.set(phase, compiledTriggers);
    return compiledTriggers;
  };
  return {
    find(phase, before, piece) {
      const triggers = phases[phase]?.triggers;
      if (!triggers || triggers.length === 0 || piece === '') return undefined;
      const byLast = getCompiled(phase, triggers);
      const otherTriggers = byLast.get('') ?? [];
      const text = before.slice(-TRIGGER_WINDOW_CHARS) + piece;
      const start = text.length - piece.length;
      for (let end = start + 1; end <= text.length; end++) {
        const unit = text.charAt(end - 1);
        const candidates = byLast.get(unit);
        if ((!candidates && otherTriggers.length === 0) || isHighSurrogate(unit)) continue;
        const window = text.slice(Math.max(0, end - TRIGGER_WINDOW_CHARS), end);
        const match = findFirstMatch(candidates ?? [], otherTriggers, window);
        if (match) return { end: end - start, phase: match.phase };
      }
      return undefined;
    },
  };
}

/** @throws SyntaxError for an invalid pattern. */
export const compileTrigger = (pattern: string): RegExp => new RegExp(`(?:${pattern})$`, 'u');

function compile(triggers: readonly PhaseTrigger[]): TriggersByLastUnit {
  const byLast = new Map<string, CompiledTrigger[]>();
  for (const [order, { pattern, phase }] of triggers.entries()) {
    const last = findLastUnit(pattern);
    byLast.set(last, [...(byLast.get(last) ?? []), { order, pattern: compileTrigger(pattern), phase }]);
  }
  return byLast;
}

/** Returns the match that comes first in the request. Both lists are in the order of the request. */
function findFirstMatch(
  keyedTriggers: readonly CompiledTrigger[],
  otherTriggers: readonly CompiledTrigger[],
  window: string,
): CompiledTrigger | undefined {
  const candidate = keyedTriggers.find(({ pattern }) => pattern.test(window));
  const otherMatch = otherTriggers.find(({ pattern }) => pattern.test(window));
  return candidate && otherMatch
    ? candidate.order < otherMatch.order
      ? candidate
      : otherMatch
    : (candidate ?? otherMatch);
}

const isHighSurrogate = (unit: string): boolean => unit >= '\ud800' && unit <= '\udbff';

/**
 * Splits a regular expression: escapes, classes and quantifiers in braces stay whole, the rest is split by character.
 */
const ATOMS = /\\(?:u\{[^}]*\}|u.{4}|x..|c.|k<[^>]*>|p\{[^}]*\}|P\{[^}]*\}|\d+|.)|\[(?:\\.|[^\]\\])*\]|\{[^}]*\}|[^]/gu;

/**
 * Returns the code unit with which every match of the pattern ends, or '' if that is not obvious. A trigger is tested
 * only where this unit occurs, because a request may have hundreds of triggers.
 */
function findLastUnit(pattern: string): string {
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
