/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Subschemas in one JSON Schema document, including the root. Beyond: 400. */
export const SCHEMA_NODES_MAX = 10_000;

/** Nesting depth of schemas while a grammar is created, references included. Beyond: 400. */
export const SCHEMA_DEPTH_MAX = 200;

/** Properties of one object, merged ones included. Beyond: 400. */
export const SCHEMA_PROPERTIES_MAX = 1_000;

/** Alternatives of one schema after anyOf, oneOf and allOf were multiplied out. Beyond: left to the check. */
export const SCHEMA_ALTERNATIVES_MAX = 256;

/** Steps of multiplying out in one document. Beyond: left to the check. */
export const SCHEMA_EXPANSION_STEPS_MAX = 200_000;

/**
 * Largest number of items or properties that a grammar counts. A larger minimum: 400. A larger maximum is checked
 * afterwards.
 */
export const GRAMMAR_COUNT_MAX = 256;

/** Largest product of properties and count for which a grammar enforces minProperties and maxProperties. */
export const GRAMMAR_POSITIONS_MAX = 2_000;

/**
 * Largest string length in code points that a grammar enforces. A larger minimum: 400. A larger maximum is checked
 * afterwards.
 */
export const GRAMMAR_LENGTH_MAX = 1_000;

/** patternProperties of one object; each doubles the number of overlaps. Beyond: left to the check. */
export const GRAMMAR_PATTERN_PROPERTIES_MAX = 4;

/** Members compared when arrays or objects are alternatives to each other. Beyond: left to the check. */
export const GRAMMAR_COMBINATIONS_MAX = 20_000;

/** Distinct patterns, formats, lengths and number ranges of one schema. Beyond: 400. */
export const GRAMMAR_LANGUAGES_MAX = 1_000;

/** Rules of one grammar. Beyond: left to the check. */
export const GRAMMAR_RULES_MAX = 20_000;

/** Characters of one grammar. Beyond: left to the check. */
export const GRAMMAR_CHARS_MAX = 1024 * 1024;

/** Parses that an engine must follow in parallel; each costs memory per token. Beyond: left to the check. */
export const GRAMMAR_PARSES_MAX = 512;

/** Steps to check one value against a schema. Beyond: the value counts as invalid, with this reason. */
export const SCHEMA_CHECK_STEPS_MAX = 1_000_000;

/** States of one automaton (of a pattern, format or number range); each becomes a grammar rule. Beyond: 400. */
export const AUTOMATON_STATES_MAX = 2_000;

/** Character ranges in the transitions of one automaton. Beyond: 400. `\p{L}` alone takes 700. */
export const AUTOMATON_TRANSITIONS_MAX = 200_000;

/** States explored while an automaton is built, and their product with the number of character classes. Beyond: 400. */
export const AUTOMATON_STATES_EXPLORED_MAX = 20_000;
export const AUTOMATON_CELLS_MAX = 1_000_000;

/** Steps, each below a microsecond, to build one automaton. Beyond: 400. */
export const AUTOMATON_STEPS_MAX = 500_000;

/** Steps to build all automata of one grammar, or of one schema check. Beyond: 400. */
export const AUTOMATA_WORK_MAX = 3_000_000;

/** Steps that each distinct `\p{…}` of a schema counts as. */
export const CHARACTER_PROPERTY_STEPS = 50_000;

/**
 * Automata cached for later schemas, and the total character ranges in their transitions. Beyond: the oldest are
 * evicted.
 */
export const AUTOMATON_CACHE_ENTRIES_MAX = 512;
export const AUTOMATON_CACHE_RANGES_MAX = 500_000;

/** The same for the character sets of `\p{…}`. */
export const CHARACTER_SET_CACHE_ENTRIES_MAX = 64;
export const CHARACTER_SET_CACHE_RANGES_MAX = 50_000;

/** Characters of a regular expression. Beyond: 400. */
export const PATTERN_CHARS_MAX = 10_000;

/** Nested groups in a regular expression. Beyond: 400. Protects recursive code from stack overflow. */
export const PATTERN_DEPTH_MAX = 100;

/** Lookaheads in a regular expression; each costs as much as a separate expression. Beyond: 400. */
export const PATTERN_LOOKAHEADS_MAX = 8;

/** Distinct `\p{…}` in a regular expression; each takes up to 15 ms. Beyond: 400. */
export const PATTERN_PROPERTIES_MAX = 8;

/** Nodes of a regular expression after its repetitions were expanded. Beyond: 400. */
export const PATTERN_NODES_MAX = 20_000;

/** Digits before the decimal point of an unbounded number; as many as a double can distinguish. */
export const NUMBER_DIGITS_MAX = 16;

/**
 * Largest power of ten of a bound that a grammar enforces. Beyond: the bound is ignored; 400 if no number would remain.
 */
export const NUMBER_DIGITS_BOUNDED_MAX = 40;

/**
 * Digits of a number with `multipleOf`; doubles represent all such numbers exactly. Longer numbers are not generated.
 */
export const NUMBER_DIGITS_EXACT_MAX = 15;

/** Decimal places of a number. Numbers with more are not generated. */
export const NUMBER_DECIMALS_MAX = 15;

/** Multiples that a grammar lists one by one. Beyond: it tracks remainders instead. */
export const NUMBER_MULTIPLES_LISTED_MAX = 500;
