import type { Grammar } from '../core/grammar.ts';
import { AUTOMATA_WORK_MAX } from './limits.ts';
import { createAnyTextAutomaton, subtractAutomata } from './automaton.ts';
import { automatonToRules } from './automaton-rules.ts';
import { patternToAutomaton } from './pattern-to-automaton.ts';
import { type CompiledSchema, compileSchema } from './compile-schema.ts';
import { formatLiteral, formatExcludedCharacters } from './gbnf.ts';
import { GrammarError } from './grammar-error.ts';
import type { LanguageCache } from './language-cache.ts';
import type { RuleRef } from './rule-body.ts';
import { createGrammarBuilder } from './grammar-builder.ts';
import { GrammarBuilderError } from './grammar-builder-error.ts';
import { createWorkBudget } from './work-budget.ts';

/**
 * Compiles a grammar to GBNF with the start rule `root`. JSON has no white space except one optional space after a
 * colon or comma; keys come in the order of `properties`. docs/protocols/json-schema.md lists what is enforced,
 * checked, or rejected.
 *
 * @param cache Automata that are shared between grammars.
 * @throws GrammarError for a schema that is malformed, contradictory, not supported, or above a limit.
 */
export function compileGrammar(grammar: Grammar, cache?: LanguageCache): string {
  const work = createWorkBudget(AUTOMATA_WORK_MAX);
  const builder = createGrammarBuilder();
  const schemas: (CompiledSchema & { readonly field: string })[] = [];
  let field = '';

  function addRule(part: Grammar): RuleRef {
    switch (part.type) {
      case 'text':
        return builder.addRule({ alternatives: [[formatLiteral(part.text)]] });
      case 'without':
        return builder.addRule({ alternatives: [[formatExcludedCharacters(part.characters)]] });
      case 'without-text': {
        const containing = patternToAutomaton(RegExp.escape(part.text), { work });
        const automaton = subtractAutomata(createAnyTextAutomaton(), containing, work);
        return builder.addGbnfRules(automatonToRules(automaton, { name: builder.createRuleName(), encode: 'text' }));
      }
      case 'sequence':
        return builder.addRule({ alternatives: [part.parts.map(addRule)] });
      case 'choice':
        return builder.addRule({ alternatives: part.options.map((option) => [addRule(option)]) });
      case 'schema': {
        field = part.field;
        const compiledSchema = compileSchema(part.schema, field, { builder, cache, work });
        schemas.push({ ...compiledSchema, field });
        return compiledSchema.rule;
      }
    }
  }

  try {
    const root = addRule(grammar);
    return builder.print(
      root,
      schemas.map(({ rule }) => rule),
    );
  } catch (error) {
    if (!(error instanceof GrammarBuilderError)) throw error;
    const impossible = schemas.find(({ rule }) => rule.rule === error.impossible?.rule);
    if (impossible) {
      const none = `No value is valid under the schema (${impossible.field}).`;
      throw new GrammarError(impossible.field, impossible.impossible ?? none);
    }
    throw new GrammarError(field, `The schema is too large: ${error.message} (${field}).`);
  }
}
