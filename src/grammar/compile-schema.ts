import type { JsonSchema } from '../core/grammar.ts';
import { createTextsAutomaton, uniteAutomata } from './automaton.ts';
import { CheckLimitError } from './check-limit-error.ts';
import {
  type Conjunction,
  createExpander,
  createKeywordReader,
  type GrammarDetail,
  type SchemaExpander,
} from './conjunctions.ts';
import type { ValueConstraint, CompileContext } from './value-constraint.ts';
import { createConstraintRules } from './constraint-rules.ts';
import { createLanguageFactory, type LanguageFactory, type LanguageFactoryOptions } from './language-factory.ts';
import { AUTOMATA_WORK_MAX } from './limits.ts';
import { prepareCheck } from './prepare-check.ts';
import type { RuleRef } from './rule-body.ts';
import type { GrammarBuilder } from './grammar-builder.ts';
import { createSchemaDocument, type SchemaDocument } from './schema-document.ts';
import { createValueShape } from './value-shape.ts';
import { createWorkBudget } from './work-budget.ts';
import { createValidator, type Validator } from './validator.ts';
import { createListedValueError } from './expansion-errors.ts';

export interface CompiledSchema {
  readonly rule: RuleRef;
  /** Whether a limit left a part of the schema out of the rule. */
  readonly isWide: boolean;
  /** The first reason why a part of the schema allows no value, if there is one. */
  readonly impossible: string | undefined;
}

/**
 * Compiles a prepared schema to rules of a builder. @throws GrammarError for a schema that is rejected, or of which the
 * grammar exceeds a limit.
 */
export type SchemaCompiler = (builder: GrammarBuilder, detail: GrammarDetail) => CompiledSchema;

/** Prepares the check of a schema and its compilation. @throws GrammarError for a schema that is rejected. */
export function prepareSchema(schema: JsonSchema, field: string, options: LanguageFactoryOptions): SchemaCompiler {
  const document = createSchemaDocument(schema, field);
  const getKeywords = createKeywordReader(document);
  const languages = createLanguageFactory(document, options);
  const { isValid, prepare } = createValidator({ document, getKeywords, languages });
  prepareCheck(schema, { document, getKeywords, languages, prepare });
  let isWide = false;
  // Keeps the report of an earlier attempt, whose languages later ones reuse.
  const noteWide = (): void => {
    isWide = true;
  };
  return (builder, detail) => {
    if (detail !== 'all') noteWide();
    const compiled = compileSchema(schema, {
      builder,
      document,
      isValid,
      expander: createExpander({ document, getKeywords, detail, noteWide }),
      // A wide grammar needs little, but the other grammars may have used the budget up.
      languages:
        detail === 'plain-strings' || detail === 'types'
          ? createLanguageFactory(document, { cache: options.cache, work: createWorkBudget(WIDE_WORK_MAX) })
          : languages,
      detail,
      noteWide,
    });
    return { ...compiled, isWide };
  };
}

/** Steps for the automata of a grammar that leaves out most of them. */
const WIDE_WORK_MAX = AUTOMATA_WORK_MAX / 3;

interface CompileSchemaDeps extends Pick<Validator, 'isValid'> {
  readonly builder: GrammarBuilder;
  readonly document: SchemaDocument;
  readonly expander: SchemaExpander;
  readonly languages: LanguageFactory;
  readonly noteWide: () => void;
  readonly detail: GrammarDetail;
}

function compileSchema(
  schema: JsonSchema,
  { builder, document, isValid, expander, languages, noteWide, detail }: CompileSchemaDeps,
): Omit<CompiledSchema, 'isWide'> {
  const constraintById = new Map<string, ValueConstraint>();
  // Avoids a second expansion, and a second long key, for schemas that are referred to often.
  const constraintByConjunctions = new Map<readonly Conjunction[], ValueConstraint>();
  const { work } = languages;
  let impossibleReason: string | undefined;

  const context: CompileContext = {
    detail,
    languages,
    getConstraint(schemas, path) {
      const conjunctions = expander.expand(schemas);
      const expanded = constraintByConjunctions.get(conjunctions);
      if (expanded) return expanded;
      // A conjunction without keywords allows any value, so that the others are redundant.
      const distinctConjunctions = conjunctions.some(({ parts }) => parts.length === 0)
        ? conjunctions.filter(({ parts }) => parts.length === 0)
        : conjunctions;
      const key = distinctConjunctions.map((way: Conjunction) => way.key).join('|');
      const id = distinctConjunctions.length === 0 ? 'none' : key;
      const constraint = constraintById.get(id) ?? { key: id, path, conjunctions: distinctConjunctions };
      constraintById.set(id, constraint);
      constraintByConjunctions.set(conjunctions, constraint);
      return constraint;
    },
    createNameLanguage(schemas, path) {
      const conjunctions = expander.expand([...schemas, STRING_SCHEMA]);
      return languages.getLanguage(
        `names ${conjunctions.map(({ key }) => key).join('|')}`,
        { path, what: 'propertyNames' },
        () =>
          conjunctions
            .map((way) => createValueShape(way, context))
            .flatMap(
              ({ strings, texts }) =>
                strings ??
                createTextsAutomaton(
                  texts.map((text) => String(JSON.parse(text))),
                  work,
                ),
            )
            .reduce((all, each) => uniteAutomata(all, each, work), createTextsAutomaton([])),
      );
    },
    isValid(part, value) {
      try {
        return isValid(part, value);
      } catch (error) {
        if (error instanceof CheckLimitError) throw createListedValueError(document, part.path, error.message);
        throw error;
      }
    },
    noteWide,
    noteImpossible(path, problem) {
      impossibleReason ??= document.createError(path, problem).message;
      return undefined;
    },
    throwError(path, problem, errorOptions) {
      throw document.createError(path, problem, errorOptions);
    },
  };
  const rule = createConstraintRules(builder, context)(context.getConstraint([schema], '#'));
  return { rule, impossible: impossibleReason };
}

const STRING_SCHEMA = { type: 'string' };
