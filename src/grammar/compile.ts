import type { Grammar } from '../core/grammar.ts';
import { AUTOMATA_WORK_MAX } from '../core/limits.ts';
import { type CompiledSchema, compileSchema } from './compile-schema.ts';
import { literal, without } from './gbnf.ts';
import { GrammarError } from './grammar-error.ts';
import type { LanguageMemory } from './language-memory.ts';
import type { RuleRef } from './rule-body.ts';
import { createRuleBook } from './rule-book.ts';
import { RuleBookError } from './rule-book-error.ts';
import { createWork } from './work.ts';

/**
 * GBNF whose start is `root`. JSON is written without white space, but for one blank that may stand after a colon or comma;
 * keys in the order of `properties`. docs/protocols/json-schema.md says what is enforced, checked afterwards, or refused.
 *
 * @param memory What is kept for the grammars to come.
 * @throws GrammarError for a schema that is malformed, contradictory, not supported, or beyond a limit.
 */
export function compileGrammar(grammar: Grammar, memory?: LanguageMemory): string {
  const work = createWork(AUTOMATA_WORK_MAX);
  const book = createRuleBook();
  const schemas: (CompiledSchema & { readonly field: string })[] = [];
  let field = '';

  function ruleOf(part: Grammar): RuleRef {
    switch (part.type) {
      case 'text':
        return book.add({ alternatives: [[literal(part.text)]] });
      case 'without':
        return book.add({ alternatives: [[without(part.characters)]] });
      case 'sequence':
        return book.add({ alternatives: [part.parts.map(ruleOf)] });
      case 'choice':
        return book.add({ alternatives: part.options.map((option) => [ruleOf(option)]) });
      case 'schema': {
        field = part.field;
        const compiled = compileSchema(part.schema, field, { book, memory, work });
        schemas.push({ ...compiled, field });
        return compiled.rule;
      }
    }
  }

  try {
    const root = ruleOf(grammar);
    return book.print(
      root,
      schemas.map(({ rule }) => rule),
    );
  } catch (error) {
    if (!(error instanceof RuleBookError)) throw error;
    const impossible = schemas.find(({ rule }) => rule.rule === error.impossible?.rule);
    if (impossible) {
      const none = `No value is valid under the schema (${impossible.field}).`;
      throw new GrammarError(impossible.field, impossible.impossible ?? none);
    }
    throw new GrammarError(field, `The schema is too large: ${error.message} (${field}).`);
  }
}
