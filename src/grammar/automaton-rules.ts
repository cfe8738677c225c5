import { GRAMMAR_CHARACTERS_MAX } from '../core/limits.ts';
import { assert } from '../lib/assert.ts';
import { AutomatonLimitError, isEmpty, type Automaton, type State } from './automaton.ts';
import { inBrackets, jsonText, plainText, type CharacterText } from './character-text.ts';
import type { CharacterSet } from './characters.ts';
import { literal } from './gbnf.ts';

/** `name ::= body` in GBNF. */
export interface Rule {
  readonly name: string;
  readonly body: string;
}

export interface RuleOptions {
  /** Of the first rule; the others' names are made from it: `NAME-1`, `NAME-set1`. */
  readonly name: string;
  /** Whether the automaton's texts are generated as they are, or as the inside of a JSON string without its quotes. */
  readonly encode: 'json-string' | 'text';
}

/**
 * Rules that generate exactly the texts of an automaton that is not empty. Right-linear and deterministic: an engine has
 * one parse to follow, which does not grow with the text. A run of states that lead to one other each is one rule.
 * Throws AutomatonLimitError beyond GRAMMAR_CHARACTERS_MAX.
 */
export function toRules(automaton: Automaton, { name, encode }: RuleOptions): readonly Rule[] {
  assert(!isEmpty(automaton), 'An empty automaton has no rules.');
  const places = automaton.states.map(placeOf);
  const uses = places.map(() => 0);
  for (const { steps } of places) for (const { to } of steps) uses[to] = (uses[to] ?? 0) + 1;
  const sets = createSetTexts(places, { name, encode });
  const names = new Map([[automaton.start, name]]);
  const rules: Rule[] = [];
  let characters = 0;
  // The map grows while it is read.
  for (const [number, ruleName] of names) {
    const rule = { name: ruleName, body: bodyOf(places[number] ?? NO_PLACE) };
    characters += rule.name.length + rule.body.length;
    if (characters > GRAMMAR_CHARACTERS_MAX) {
      throw new AutomatonLimitError(`takes more than ${GRAMMAR_CHARACTERS_MAX} characters of grammar`);
    }
    rules.push(rule);
  }
  return [...rules, ...sets.rules];

  function bodyOf({ accepts, loop, steps }: Place): string {
    const loops = loop === undefined ? [] : [sets.repeated(loop)];
    const [only] = steps;
    if (only === undefined) return print(loops);
    if (steps.length === 1 && !accepts) return print([...loops, ...from(only)]);
    const alternatives = steps.map((step) => print(from(step)));
    if (accepts) alternatives.push('""');
    return loop === undefined ? alternatives.join(' | ') : print([...loops, { written: inBrackets(alternatives) }]);
  }

  /** A step and all that follows it. */
  function from(first: Step): readonly Piece[] {
    const pieces: Piece[] = [];
    for (let step: Step | undefined = first; step !== undefined;) {
      pieces.push(sets.once(step.set));
      const { accepts, loop, steps }: Place = places[step.to] ?? NO_PLACE;
      if (loop === undefined && steps.length === 0) break;
      // A state that is entered from one other, and goes on in one way, needs no rule of its own.
      const isInline = uses[step.to] === 1 && step.to !== automaton.start && steps.length === (accepts ? 0 : 1);
      if (!isInline) return [...pieces, { written: nameOf(step.to) }];
      if (loop !== undefined) pieces.push(sets.repeated(loop));
      step = steps[0];
    }
    return pieces;
  }

  function nameOf(number: number): string {
    let ruleName = names.get(number);
    if (ruleName === undefined) names.set(number, (ruleName = `${name}-${names.size}`));
    return ruleName;
  }
}

/** A state with its moves put together. */
interface Place {
  readonly accepts: boolean;
  /** Characters that lead back to the same state. */
  readonly loop: CharacterSet | undefined;
  readonly steps: readonly Step[];
}

interface Step {
  readonly set: CharacterSet;
  readonly to: number;
}

const NO_PLACE: Place = { accepts: true, loop: undefined, steps: [] };

function placeOf({ accepts, moves }: State, number: number): Place {
  const groups = [...Map.groupBy(moves, ({ state }) => state)].map(([to, set]) => ({ set, to }));
  const loop = groups.find(({ to }) => to === number)?.set;
  return { accepts, loop, steps: groups.filter(({ to }) => to !== number) };
}

/** A part of a rule: text to be quoted, or GBNF. */
type Piece = { readonly literal: string } | { readonly written: string };

/** Neighbouring texts become one. */
function print(pieces: readonly Piece[]): string {
  const parts: string[] = [];
  let quoted = '';
  for (const piece of pieces) {
    if ('literal' in piece) {
      quoted += piece.literal;
      continue;
    }
    if (quoted !== '') parts.push(literal(quoted));
    quoted = '';
    parts.push(piece.written);
  }
  if (quoted !== '' || parts.length === 0) parts.push(literal(quoted));
  return parts.join(' ');
}

/** Characters of a set that is written out wherever it is used. */
const SET_WRITTEN_OUT_MAX = 48;

interface SetTexts {
  once(set: CharacterSet): Piece;
  /** Any number of times. */
  repeated(set: CharacterSet): Piece;
  /** Sets that are long and used more than once have a rule; complete when all have been asked for. */
  readonly rules: readonly Rule[];
}

function createSetTexts(places: readonly Place[], { name, encode }: RuleOptions): SetTexts {
  const keyOf = (set: CharacterSet): string => set.map(({ from, to }) => `${from}-${to}`).join();
  const uses = new Map<string, number>();
  for (const { loop, steps } of places) {
    for (const set of [...(loop ? [loop] : []), ...steps.map((step) => step.set)]) {
      uses.set(keyOf(set), (uses.get(keyOf(set)) ?? 0) + 1);
    }
  }
  const known = new Map<string, CharacterText>();
  const rules: Rule[] = [];
  const textOf = (set: CharacterSet): CharacterText => {
    const key = keyOf(set);
    let text = known.get(key);
    if (text !== undefined) return text;
    text = encode === 'text' ? plainText(set) : jsonText(set);
    const body = 'literal' in text ? '' : text.alternatives.join(' | ');
    if (body.length > SET_WRITTEN_OUT_MAX && (uses.get(key) ?? 0) > 1) {
      const rule = { name: `${name}-set${rules.length + 1}`, body };
      rules.push(rule);
      text = { alternatives: [rule.name] };
    }
    known.set(key, text);
    return text;
  };
  return {
    rules,
    once(set) {
      const text = textOf(set);
      return 'literal' in text ? text : { written: inBrackets(text.alternatives) };
    },
    repeated(set) {
      const text = textOf(set);
      if ('literal' in text) return { written: `${literal(text.literal)}*` };
      const [only = ''] = text.alternatives;
      // A star takes the one thing before it.
      const isOne = text.alternatives.length === 1 && /^(?:\[(?:[^\]\\]|\\.)*\]|[\w-]+)$/.test(only);
      return { written: isOne ? `${only}*` : `(${text.alternatives.join(' | ')})*` };
    },
  };
}
