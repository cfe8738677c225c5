import type { JsonSchema } from '../core/grammar.ts';
import { ofTexts, union } from './automaton.ts';
import { CheckLimitError } from './check-limit-error.ts';
import { type Conjunction, createExpander } from './conjunctions.ts';
import type { Goal, Goals } from './goal.ts';
import { createGoalRules } from './goal-rules.ts';
import { createLanguages, type LanguagesOptions } from './languages.ts';
import { prepareCheck } from './prepare-check.ts';
import type { RuleRef } from './rule-body.ts';
import type { RuleBook } from './rule-book.ts';
import { createDocument } from './schema-document.ts';
import { shapeOf } from './shape.ts';
import { createValidator } from './validator.ts';

/** The rule of a schema, and why a part of it cannot be satisfied, if any part was found that cannot. */
export interface CompiledSchema {
  readonly rule: RuleRef;
  readonly impossible: string | undefined;
}

export interface CompileNeeds extends LanguagesOptions {
  readonly book: RuleBook;
}

/** @throws GrammarError for what is refused. */
export function compileSchema(schema: JsonSchema, field: string, { book, ...options }: CompileNeeds): CompiledSchema {
  const document = createDocument(schema, field);
  const expander = createExpander(document);
  const known = new Map<string, Goal>();
  // A schema that is referred to often is expanded once; its key, which may be long, is then not made again.
  const byWays = new Map<readonly Conjunction[], Goal>();
  const { keywordsOf } = expander;
  const languages = createLanguages(document, options);
  const { work } = languages;
  const { isValid, prepare } = createValidator({ keywordsOf, languages });
  prepareCheck(schema, { document, keywordsOf, languages, prepare });
  let impossible: string | undefined;

  const goals: Goals = {
    languages,
    of(schemas, path) {
      const ways = expander.expand(schemas);
      const expanded = byWays.get(ways);
      if (expanded) return expanded;
      // A way that asks for nothing holds all others in it.
      const needed = ways.some(({ parts }) => parts.length === 0)
        ? ways.filter(({ parts }) => parts.length === 0)
        : ways;
      const key = needed.map((way: Conjunction) => way.key).join('|');
      const id = needed.length === 0 ? 'none' : key;
      const goal = known.get(id) ?? { key: id, path, ways: needed };
      known.set(id, goal);
      byWays.set(ways, goal);
      return goal;
    },
    textsOf(schemas, path) {
      const ways = expander.expand([...schemas, TEXT]);
      return languages.make(`names ${ways.map(({ key }) => key).join('|')}`, { path, what: 'propertyNames' }, () =>
        ways
          .map((way) => shapeOf(way, goals))
          .flatMap(
            ({ strings, texts }) =>
              strings ??
              ofTexts(
                texts.map((text) => String(JSON.parse(text))),
                work,
              ),
          )
          .reduce((all, each) => union(all, each, work), ofTexts([])),
      );
    },
    isValid(part, value) {
      try {
        return isValid(part, value);
      } catch (error) {
        if (error instanceof CheckLimitError)
          throw document.refusal(part.path, `A value of enum or const ${error.message}`);
        throw error;
      }
    },
    note(path, problem) {
      impossible ??= document.refusal(path, problem).message;
      return undefined;
    },
    refuse(path, problem) {
      throw document.refusal(path, problem);
    },
  };
  const rule = createGoalRules(book, goals)(goals.of([schema], '#'));
  return { rule, impossible };
}

const TEXT = { type: 'string' };
