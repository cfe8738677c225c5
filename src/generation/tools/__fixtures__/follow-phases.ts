import type { Grammar } from '../../../core/grammar.ts';
import type { Phase } from '../../../core/prompt.ts';
import { createTriggers } from '../../../engines/triggers.ts';

/** The way that an answer takes through phases. */
export interface Path {
  readonly phases: readonly number[];
  /** What no phase allows; empty when the answer is possible. */
  readonly rest: string;
}

/** @param json The only JSON text there is: all schemas allow it. */
export function followPhases(phases: readonly Phase[], answer: string, json: string): Path {
  const triggers = createTriggers(phases);
  const path: number[] = [];
  let at = 0;
  for (let phase: number | undefined = 0; phase !== undefined;) {
    path.push(phase);
    const current: Phase | undefined = phases[phase];
    if (!current) throw new Error(`there is no phase ${phase}`);
    const ends = current.grammar && endsOf(current.grammar, answer, at, json);
    const hit = triggers.find(phase, '', answer.slice(at));
    if (hit && (!ends || ends.has(at + hit.end))) {
      at += hit.end;
      phase = hit.phase;
      continue;
    }
    at = ends ? Math.max(at, ...ends) : answer.length;
    phase = current.next;
  }
  return { phases: path, rest: answer.slice(at) };
}

/** Positions at which text that the grammar allows can end. */
function endsOf(grammar: Grammar, text: string, from: number, json: string): ReadonlySet<number> {
  const literal = (wanted: string): ReadonlySet<number> =>
    new Set(text.startsWith(wanted, from) ? [from + wanted.length] : []);
  switch (grammar.type) {
    case 'text':
      return literal(grammar.text);
    case 'schema':
      return literal(json);
    case 'choice':
      return new Set(grammar.options.flatMap((option) => [...endsOf(option, text, from, json)]));
    case 'sequence':
      return grammar.parts.reduce<ReadonlySet<number>>(
        (starts, part) => new Set([...starts].flatMap((start) => [...endsOf(part, text, start, json)])),
        new Set([from]),
      );
    case 'without':
      throw new Error('not used here');
  }
}
