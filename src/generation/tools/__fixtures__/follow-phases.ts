import type { Grammar } from '../../../core/grammar.ts';
import type { GenerationPhase } from '../../../core/prompt.ts';
import { createTriggerMatcher } from '../../../engines/trigger-matcher.ts';

/** The phases that an answer passes. */
export interface PhasePath {
  readonly phases: readonly number[];
  /** Text that no phase allows; empty for a possible answer. */
  readonly rest: string;
}

/** Follows the phases of an answer. @param json The only JSON text in the answer; every schema accepts it. */
export function followPhases(phases: readonly GenerationPhase[], answer: string, json: string): PhasePath {
  const triggers = createTriggerMatcher(phases);
  const path: number[] = [];
  let at = 0;
  for (let phase: number | undefined = 0; phase !== undefined;) {
    path.push(phase);
    const current: GenerationPhase | undefined = phases[phase];
    if (!current) throw new Error(`there is no phase ${phase}`);
    const ends = current.grammar && findEnds(current.grammar, answer, at, json);
    const hit = triggers.find(phase, '', answer.slice(at));
    if (hit && (!ends || ends.has(at + hit.end))) {
      at += hit.end;
      phase = hit.phase;
      continue;
    }
    at = ends ? Math.max(at, ...ends) : answer.length;
    phase = current.nextPhase;
  }
  return { phases: path, rest: answer.slice(at) };
}

/** Returns the positions at which text that the grammar allows can end. */
function findEnds(grammar: Grammar, text: string, from: number, json: string): ReadonlySet<number> {
  const literal = (expected: string): ReadonlySet<number> =>
    new Set(text.startsWith(expected, from) ? [from + expected.length] : []);
  switch (grammar.type) {
    case 'text':
      return literal(grammar.text);
    case 'schema':
      return literal(json);
    case 'choice':
      return new Set(grammar.options.flatMap((option) => [...findEnds(option, text, from, json)]));
    case 'sequence':
      return grammar.parts.reduce<ReadonlySet<number>>(
        (starts, part) => new Set([...starts].flatMap((start) => [...findEnds(part, text, start, json)])),
        new Set([from]),
      );
    case 'without':
    case 'without-text':
      throw new Error('not used here');
  }
}
