import type { JsonSchema } from '../core/grammar.ts';
import { createTextsAutomaton, uniteAutomata } from './automaton.ts';
import { CheckLimitError } from './check-limit-error.ts';
import { type Conjunction, createExpander } from './conjunctions.ts';
import type { ValueConstraint, CompileContext } from './value-constraint.ts';
import { createConstraintRules } from './constraint-rules.ts';
import { createLanguageFactory, type LanguageFactoryOptions } from './language-factory.ts';
import { prepareCheck } from './prepare-check.ts';
import type { RuleRef } from './rule-body.ts';
import type { GrammarBuilder } from './grammar-builder.ts';
import { createSchemaDocument } from './schema-document.ts';
import { createValueShape } from './value-shape.ts';
import { createValidator } from './validator.ts';
import { createListedValueError } from './expansion-errors.ts';

/** The rule of a schema, and the first reason why a part of it allows no value, if there is one. */
export interface CompiledSchema {
  readonly rule: RuleRef;
  readonly impossible: string | undefined;
}

export interface CompileSchemaOptions extends LanguageFactoryOptions {
  readonly builder: GrammarBuilder;
}

/** Compiles a schema to rules of `builder`. @throws GrammarError for a schema that is rejected. */
export function compileSchema(
  schema: JsonSchema,
  field: string,
  { builder, ...options }: CompileSchemaOptions,
): CompiledSchema {
  const document = createSchemaDocument(schema, field);
  const expander = createExpander(document);
  const constraintById = new Map<string, ValueConstraint>();
  // Avoids a second expansion, and a second long key, for schemas that are referred to often.
  const constraintByConjunctions = new Map<readonly Conjunction[], ValueConstraint>();
  const { getKeywords } = expander;
  const languages = createLanguageFactory(document, options);
  const { work } = languages;
  const { isValid, prepare } = createValidator({ getKeywords, languages });
  prepareCheck(schema, { document, getKeywords: getKeywords, languages, prepare });
  let impossibleReason: string | undefined;

  const context: CompileContext = {
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
    noteImpossible(path, problem) {
      impossibleReason ??= document.createError(path, problem).message;
      return undefined;
    },
    throwError(path, problem) {
      throw document.createError(path, problem);
    },
  };
  const rule = createConstraintRules(builder, context)(context.getConstraint([schema], '#'));
  return { rule, impossible: impossibleReason };
}

const STRING_SCHEMA = { type: 'string' };
