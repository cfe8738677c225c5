import { SCHEMA_DEPTH_MAX } from './limits.ts';
import { AutomatonLimitError, uniteAutomata, type Automaton } from './automaton.ts';
import { automatonToRules, type AutomatonRuleOptions } from './automaton-rules.ts';
import { createContainerRule } from './container-rules.ts';
import { formatLiteral } from './gbnf.ts';
import type { ValueConstraint, CompileContext } from './value-constraint.ts';
import type { RuleAlternative, RuleRef } from './rule-body.ts';
import type { GrammarBuilder } from './grammar-builder.ts';
import { createValueShape, type ValueShape } from './value-shape.ts';
import { createTextChoice } from './text-choice.ts';
import { createOverlapFinder } from './overlap-finder.ts';
import type { WorkBudget } from './work-budget.ts';

/** Creates the function that returns the rule for JSON texts of values that satisfy a constraint. */
export function createConstraintRules(
  builder: GrammarBuilder,
  context: CompileContext,
): (constraint: ValueConstraint) => RuleRef {
  const textRule = createTextRules(builder);
  const { work } = context.languages;
  const findOverlaps = createOverlapFinder(work);
  const ruleByConstraint = new Map<ValueConstraint, RuleRef | 'in progress'>();
  const reservedByConstraint = new Map<ValueConstraint, RuleRef>();
  const shapes = new Map<ValueConstraint, readonly ValueShape[]>();
  let depth = 0;

  function getRule(constraint: ValueConstraint): RuleRef {
    const ref = ruleByConstraint.get(constraint);
    if (ref === 'in progress') {
      const reserved = reservedByConstraint.get(constraint) ?? builder.reserveRule();
      reservedByConstraint.set(constraint, reserved);
      return reserved;
    }
    if (ref) return ref;
    if (depth === SCHEMA_DEPTH_MAX)
      context.throwError(constraint.path, `The schema is more than ${SCHEMA_DEPTH_MAX} schemas deep`);
    depth++;
    ruleByConstraint.set(constraint, 'in progress');
    const body = { alternatives: createAlternatives(constraint) };
    const reserved = reservedByConstraint.get(constraint);
    if (reserved) builder.defineRule(reserved, body);
    const created = reserved ?? builder.addRule(body);
    ruleByConstraint.set(constraint, created);
    depth--;
    return created;
  }

  function getShapes(constraint: ValueConstraint): readonly ValueShape[] {
    const created = shapes.get(constraint) ?? constraint.conjunctions.map((way) => createValueShape(way, context));
    shapes.set(constraint, created);
    return created;
  }

  function addTextRule(
    automaton: Automaton,
    encode: AutomatonRuleOptions['encode'],
    { path }: ValueConstraint,
  ): RuleRef {
    try {
      return textRule(automaton, encode);
    } catch (error) {
      if (error instanceof AutomatonLimitError)
        return context.throwError(path, `The set of allowed texts ${error.message}`, { isGrammarLimit: true });
      throw error;
    }
  }

  /** Creates alternatives that begin differently, except for single values that are also strings or numbers. */
  function createAlternatives(constraint: ValueConstraint): readonly RuleAlternative[] {
    const all = getShapes(constraint);
    const texts = [...new Set(all.flatMap((shape) => shape.texts))];
    const objects = all.flatMap(({ object }) => object ?? []);
    const arrays = all.flatMap(({ array }) => array ?? []);
    const deps = {
      builder,
      getRule,
      createKeyRule: (names: Automaton) => addTextRule(names, 'json-string', constraint),
      findOverlaps: (choices: readonly ValueConstraint[]) => findOverlaps(choices.map(getShapes)),
      throwLimitError: (problem: string) => context.throwError(constraint.path, problem, { isGrammarLimit: true }),
    };
    return [
      ...createTextChoice(texts, builder),
      ...uniteAll(
        all.flatMap(({ strings }) => strings ?? []),
        work,
      ).map((each) => [formatLiteral('"'), addTextRule(each, 'json-string', constraint), formatLiteral('"')]),
      ...uniteAll(
        all.flatMap(({ numbers }) => numbers ?? []),
        work,
      ).map((each) => [addTextRule(each, 'text', constraint)]),
      ...(objects.length > 0 ? [createContainerRule(objects, { open: '{', close: '}' }, deps)] : []),
      ...(arrays.length > 0 ? [createContainerRule(arrays, { open: '[', close: ']' }, deps)] : []),
    ];
  }

  return getRule;
}

/** Maximum number of automata that are united; more stay alternatives. */
const UNION_AUTOMATA_MAX = 16;

/** Unites several automata to one, unless the result would be too large. */
function uniteAll(automata: readonly Automaton[], work: WorkBudget): readonly Automaton[] {
  const [first, ...others] = automata;
  if (!first || others.length === 0 || others.length >= UNION_AUTOMATA_MAX) return automata;
  try {
    return [others.reduce((all, each) => uniteAutomata(all, each, work), first)];
  } catch (error) {
    if (error instanceof AutomatonLimitError) return automata;
    throw error;
  }
}

/** Creates the function that returns the rule of an automaton; equal automata share a rule. */
function createTextRules(
  builder: GrammarBuilder,
): (automaton: Automaton, encode: AutomatonRuleOptions['encode']) => RuleRef {
  const keys = new Map<Automaton, string>();
  const ruleByKey = new Map<string, RuleRef>();
  return (automaton, encode) => {
    const key = keys.get(automaton) ?? JSON.stringify(automaton);
    keys.set(automaton, key);
    const ref =
      ruleByKey.get(encode + key) ??
      builder.addGbnfRules(automatonToRules(automaton, { name: builder.createRuleName(), encode }));
    ruleByKey.set(encode + key, ref);
    return ref;
  };
}
