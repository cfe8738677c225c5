/**
 * Limits of rendering a chat template. Beyond those of a running template, the request gets 400: a template comes from a
 * model file, so that none may block the process.
 */

/**
 * Steps of one rendering: statements, operations, calls and iterations. A conversation of 10,000 messages takes some
 * 400,000.
 */
export const TEMPLATE_STEPS_MAX = 2_000_000;

/** Characters of a string whose use costs one more step: reading and copying them takes about as long as a step. */
export const TEMPLATE_CHARS_PER_STEP = 2_000;

/** Elements of a list or members of an object whose use by an operation costs one more step. */
export const TEMPLATE_ELEMENTS_PER_STEP = 8;

/** Characters of any string during a rendering, and of its result. */
export const TEMPLATE_VALUE_CHARS_MAX = 64 * 1024 * 1024;

/** Elements of a `range`, as in jinja2's sandbox. */
export const TEMPLATE_RANGE_MAX = 100_000;

/** Macros and recursive loops that call each other. Schemas nest JSON_DEPTH_MAX levels, with up to two macros for each. */
export const TEMPLATE_CALL_DEPTH_MAX = 200;

/** Nesting depth of a template's tags, and of the brackets of an expression. Beyond: the model is unavailable, 503. */
export const PARSE_DEPTH_MAX = 100;
