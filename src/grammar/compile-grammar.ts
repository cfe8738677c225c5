import type { Grammar } from '../core/grammar.ts';
import { AUTOMATA_WORK_MAX } from './limits.ts';
import { assert } from '../lib/assert.ts';
import { createAnyTextAutomaton, subtractAutomata } from './automaton.ts';
import { automatonToRules } from './automaton-rules.ts';
import { patternToAutomaton } from './pattern-to-automaton.ts';
import { type CompiledSchema, prepareSchema, type SchemaCompiler } from './compile-schema.ts';
import type { GrammarDetail } from './conjunctions.ts';
import { formatLiteral, formatExcludedCharacters } from './gbnf.ts';
import { GrammarError } from './grammar-error.ts';
import type { LanguageCache } from './language-cache.ts';
import type { RuleRef } from './rule-body.ts';
import { createGrammarBuilder } from './grammar-builder.ts';
import { GrammarBuilderError } from './grammar-builder-error.ts';
import { createWorkBudget, type WorkBudget } from './work-budget.ts';

export interface CompiledGrammar {
  readonly gbnf: string;
  /**
   * Whether a limit left a part of a schema out, so that each answer must be checked. Keywords that no grammar enforces do
   * not count: `needsCheck` reports those.
   */
  readonly isWide: boolean;
}

/** From the grammar that holds most of a schema to the one that holds least. */
const DETAILS: readonly GrammarDetail[] = ['all', 'few-containers', 'plain-strings', 'types'];

/**
 * Compiles a grammar to GBNF with the start rule `root`. JSON has no white space except one optional space after a
 * colon or comma; keys come in the order of `properties`. A grammar above a limit is compiled again with less detail and
 * is reported as wide. docs/protocols/json-schema.md lists what is enforced, checked, or rejected.
 *
 * @param cache Automata that are shared between grammars.
 * @throws GrammarError for a schema that is malformed, contradictory, not supported, or above a limit.
 */
export function compileGrammar(grammar: Grammar, cache?: LanguageCache): CompiledGrammar {
  const work = createWorkBudget(AUTOMATA_WORK_MAX);
  const compilers = new Map<Grammar, SchemaCompiler>();
  for (const part of listSchemas(grammar))
    if (!compilers.has(part)) compilers.set(part, prepareSchema(part.schema, part.field, { cache, work }));
  let lastError: unknown;
  for (const detail of DETAILS) {
    try {
      return compileWithDetail(grammar, { detail, compilers, work });
    } catch (error) {
      if (!(error instanceof GrammarError && error.isGrammarLimit)) throw error;
      lastError ??= error;
    }
  }
  throw lastError;
}

interface CompileOptions {
  readonly detail: GrammarDetail;
  readonly compilers: ReadonlyMap<Grammar, SchemaCompiler>;
  readonly work: WorkBudget;
}

function compileWithDetail(grammar: Grammar, { detail, compilers, work }: CompileOptions): CompiledGrammar {
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
        const compile = compilers.get(part);
        assert(compile !== undefined, 'A schema of the grammar is not prepared.');
        const compiledSchema = compile(builder, detail);
        schemas.push({ ...compiledSchema, field });
        return compiledSchema.rule;
      }
    }
  }

  try {
    const root = addRule(grammar);
    const gbnf = builder.print(
      root,
      schemas.map(({ rule }) => rule),
    );
    return { gbnf, isWide: schemas.some(({ isWide }) => isWide) };
  } catch (error) {
    if (!(error instanceof GrammarBuilderError)) throw error;
    const impossible = schemas.find(({ rule }) => rule.rule === error.impossible?.rule);
    if (impossible) {
      const none = `No value is valid under the schema (${impossible.field}).`;
      throw new GrammarError(impossible.field, impossible.impossible ?? none);
    }
    const message = `The schema is too large: ${error.message} (${field}).`;
    throw new GrammarError(field, message, { isGrammarLimit: error.impossible === undefined });
  }
}

function* listSchemas(grammar: Grammar): Generator<Extract<Grammar, { type: 'schema' }>> {
  if (grammar.type === 'schema') yield grammar;
  if (grammar.type === 'sequence') for (const part of grammar.parts) yield* listSchemas(part);
  if (grammar.type === 'choice') for (const option of grammar.options) yield* listSchemas(option);
}
