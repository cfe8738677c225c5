import type { GrammarError } from './grammar-error.ts';
import type { SchemaDocument } from './schema-document.ts';

/** Maximum depth of schemas that refer to each other for the same value. Bounds the recursion. */
export const EXPANSION_DEPTH_MAX = 500;

// Errors that the compilation of a schema and the preparation of its check have in common.

export const createRecursionError = ({ createError }: SchemaDocument, path: string): GrammarError =>
  createError(path, 'The schema refers to itself without descending into a value');

export const createExpansionDepthError = ({ createError }: SchemaDocument, path: string): GrammarError =>
  createError(path, `References and combinations are nested more than ${EXPANSION_DEPTH_MAX} deep`);

/** Creates the error of a listed value whose check exceeds a limit. */
export const createListedValueError = ({ createError }: SchemaDocument, path: string, problem: string): GrammarError =>
  createError(path, `A value of enum or const ${problem}`);
