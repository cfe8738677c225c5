import { GRAMMAR_CHARS_MAX } from './limits.ts';
import { assert } from '../lib/assert.ts';
import { AutomatonLimitError, isEmpty, type Automaton, type AutomatonState } from './automaton.ts';
import { joinAlternatives, formatJsonSet, formatPlainSet, type CharacterSetText } from './character-text.ts';
import type { CharacterSet } from './character-set.ts';
import { formatLiteral } from './gbnf.ts';

/** A GBNF rule: `name ::= body`. */
export interface GbnfRule {
  readonly name: string;
  readonly body: string;
}

export interface AutomatonRuleOptions {
  /** Name of the first rule. The names of the others derive from it: `NAME-1`, `NAME-set1`. */
  readonly name: string;
  /** Whether the rules generate the texts themselves, or the inside of JSON strings whose values are the texts. */
  readonly encode: 'json-string' | 'text';
}

/**
 * Converts a non-empty automaton to rules that generate exactly its texts. The rules are right-linear and
 * deterministic, so that an engine follows a single parse, which does not grow with the text. A chain of states becomes
 * one rule.
 * @throws AutomatonLimitError above GRAMMAR_CHARS_MAX characters.
 */
export function automatonToRules(automaton: Automaton, { name, encode }: AutomatonRuleOptions): readonly GbnfRule[] {
  assert(!isEmpty(automaton), 'An empty automaton has no rules.');
  const groupedStates = automaton.states.map(groupTransitions);
  const useCounts = groupedStates.map(() => 0);
  for (const { transitions } of groupedStates)
    for (const { to } of transitions) useCounts[to] = (useCounts[to] ?? 0) + 1;
  const setFormatter = createSetFormatter(groupedStates, { name, encode });
  const names = new Map([[automaton.start, name]]);
  const rules: GbnfRule[] = [];
  let characters = 0;
  // The loop adds entries to the map while it iterates.
  for (const [number, ruleName] of names) {
    const rule = { name: ruleName, body: formatBody(groupedStates[number] ?? FINAL_STATE) };
    characters += rule.name.length + rule.body.length;
    if (characters > GRAMMAR_CHARS_MAX) {
      throw new AutomatonLimitError(`needs more than ${GRAMMAR_CHARS_MAX} characters of grammar`);
    }
    rules.push(rule);
  }
  return [...rules, ...setFormatter.rules];

  function formatBody({ accepts, loop, transitions }: GroupedState): string {
    const loops = loop === undefined ? [] : [setFormatter.formatRepeated(loop)];
    const [only] = transitions;
    if (only === undefined) return formatPieces(loops);
    if (transitions.length === 1 && !accepts) return formatPieces([...loops, ...collectPieces(only)]);
    const alternatives = transitions.map((step) => formatPieces(collectPieces(step)));
    if (accepts) alternatives.push('""');
    return loop === undefined
      ? alternatives.join(' | ')
      : formatPieces([...loops, { gbnf: joinAlternatives(alternatives) }]);
  }

  /** Collects the pieces of a transition and of the states that can be inlined after it. */
  function collectPieces(first: GroupedTransition): readonly RulePiece[] {
    const pieces: RulePiece[] = [];
    for (let step: GroupedTransition | undefined = first; step !== undefined;) {
      pieces.push(setFormatter.formatOnce(step.set));
      const { accepts, loop, transitions }: GroupedState = groupedStates[step.to] ?? FINAL_STATE;
      if (loop === undefined && transitions.length === 0) break;
      // A state with one incoming transition and one way to continue needs no rule of its own.
      const isInline =
        useCounts[step.to] === 1 && step.to !== automaton.start && transitions.length === (accepts ? 0 : 1);
      if (!isInline) return [...pieces, { gbnf: getRuleName(step.to) }];
      if (loop !== undefined) pieces.push(setFormatter.formatRepeated(loop));
      step = transitions[0];
    }
    return pieces;
  }

  function getRuleName(number: number): string {
    let ruleName = names.get(number);
    if (ruleName === undefined) names.set(number, (ruleName = `${name}-${names.size}`));
    return ruleName;
  }
}

/** A state whose transitions are grouped by target. */
interface GroupedState {
  readonly accepts: boolean;
  /** Characters that lead back to the same state. */
  readonly loop: CharacterSet | undefined;
  readonly transitions: readonly GroupedTransition[];
}

interface GroupedTransition {
  readonly set: CharacterSet;
  readonly to: number;
}

const FINAL_STATE: GroupedState = { accepts: true, loop: undefined, transitions: [] };

function groupTransitions({ accepts, transitions }: AutomatonState, number: number): GroupedState {
  const groups = [...Map.groupBy(transitions, ({ state }) => state)].map(([to, set]) => ({ set, to }));
  const loop = groups.find(({ to }) => to === number)?.set;
  return { accepts, loop, transitions: groups.filter(({ to }) => to !== number) };
}

/** A part of a rule: text to be quoted, or GBNF. */
type RulePiece = { readonly literal: string } | { readonly gbnf: string };

/** Joins pieces; adjacent texts become one literal. */
function formatPieces(pieces: readonly RulePiece[]): string {
  const parts: string[] = [];
  let quoted = '';
  for (const piece of pieces) {
    if ('literal' in piece) {
      quoted += piece.literal;
      continue;
    }
    if (quoted !== '') parts.push(formatLiteral(quoted));
    quoted = '';
    parts.push(piece.gbnf);
  }
  if (quoted !== '' || parts.length === 0) parts.push(formatLiteral(quoted));
  return parts.join(' ');
}

/**
 * Maximum length of a character set, in characters, that is repeated in each rule instead of having a rule of its own.
 */
const INLINE_SET_CHARS_MAX = 48;

interface SetFormatter {
  formatOnce(set: CharacterSet): RulePiece;
  /** Formats zero or more repetitions. */
  formatRepeated(set: CharacterSet): RulePiece;
  /** Rules for long sets that are used more than once; complete after all sets are formatted. */
  readonly rules: readonly GbnfRule[];
}

function createSetFormatter(
  groupedStates: readonly GroupedState[],
  { name, encode }: AutomatonRuleOptions,
): SetFormatter {
  const toSetKey = (set: CharacterSet): string => set.map(({ from, to }) => `${from}-${to}`).join();
  const useCounts = new Map<string, number>();
  for (const { loop, transitions } of groupedStates) {
    for (const set of [...(loop ? [loop] : []), ...transitions.map((step) => step.set)]) {
      useCounts.set(toSetKey(set), (useCounts.get(toSetKey(set)) ?? 0) + 1);
    }
  }
  const textBySet = new Map<string, CharacterSetText>();
  const rules: GbnfRule[] = [];
  const formatSet = (set: CharacterSet): CharacterSetText => {
    const key = toSetKey(set);
    let text = textBySet.get(key);
    if (text !== undefined) return text;
    text = encode === 'text' ? formatPlainSet(set) : formatJsonSet(set);
    const body = 'literal' in text ? '' : text.alternatives.join(' | ');
    if (body.length > INLINE_SET_CHARS_MAX && (useCounts.get(key) ?? 0) > 1) {
      const rule = { name: `${name}-set${rules.length + 1}`, body };
      rules.push(rule);
      text = { alternatives: [rule.name] };
    }
    textBySet.set(key, text);
    return text;
  };
  return {
    rules,
    formatOnce(set) {
      const text = formatSet(set);
      return 'literal' in text ? text : { gbnf: joinAlternatives(text.alternatives) };
    },
    formatRepeated(set) {
      const text = formatSet(set);
      if ('literal' in text) return { gbnf: `${formatLiteral(text.literal)}*` };
      const [only = ''] = text.alternatives;
      // The star applies to the single element before it.
      const isOne = text.alternatives.length === 1 && /^(?:\[(?:[^\]\\]|\\.)*\]|[\w-]+)$/.test(only);
      return { gbnf: isOne ? `${only}*` : `(${text.alternatives.join(' | ')})*` };
    },
  };
}
