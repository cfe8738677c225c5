import type { JsonSchema } from '../../core/grammar.ts';

const NAMES = ['id', 'name', 'a b', 'size', 'kind', 'note', 'constructor', 'é"\\', 'x1', 'x2'];
const WORDS = ['red', 'green', 'blue', 'on', 'off', 'a\nb', 'q"q', '日本', '😀', ''];
const PATTERNS = ['^[a-z]{2,5}$', '^\\d{3}-\\d{4}$', 'foo|bar', '^[A-Z][a-z]*$', '^(?:red|green)-\\d+$', '[0-9]', '^.{3}$', '^[^,"]*$'];
const FORMATS = ['date', 'time', 'date-time', 'email', 'uuid', 'ipv4', 'ipv6', 'hostname', 'duration', 'unknown-to-all'];

/**
 * Creates a random schema of keywords that the grammar enforces. Some are contradictory, as callers' schemas can be.
 */
export function createRandomSchema(random: () => number): JsonSchema {
  const below = (count: number): number => Math.floor(random() * count);
  const pick = <T>(list: readonly [T, ...T[]] | readonly T[]): T => {
    const picked = list[below(list.length)];
    if (picked === undefined) throw new Error('an empty list');
    return picked;
  };
  const maybe = <T>(chance: number, make: () => T): T | undefined => (random() < chance ? make() : undefined);
  const definitions = ['one', 'two'].slice(0, below(3));

  const text = (): JsonSchema => {
    const minLength = maybe(0.3, () => below(6));
    return present({
      type: 'string',
      minLength,
      maxLength: maybe(0.3, () => (minLength ?? 0) + below(12)),
      pattern: maybe(0.3, () => pick(PATTERNS)),
      format: maybe(0.15, () => pick(FORMATS)),
    });
  };

  const number = (): JsonSchema => {
    const low = pick([-1000, -20, -1.5, 0, 0.25, 1, 3, 17, 1e6]);
    const span = pick([0, 0.5, 1, 7, 100, 12345]);
    const below_ = random() < 0.5;
    const above = random() < 0.5;
    const isOpen = random() < 0.3;
    return present({
      type: pick(['integer', 'number']),
      [isOpen ? 'exclusiveMinimum' : 'minimum']: below_ ? low : undefined,
      [isOpen ? 'exclusiveMaximum' : 'maximum']: above ? low + span : undefined,
      multipleOf: maybe(0.15, () => pick([1, 2, 5, 0.5, 10])),
    });
  };

  const values = (): JsonSchema =>
    pick<() => JsonSchema>([
      () => ({ enum: Array.from({ length: 1 + below(4) }, () => pick<unknown>([...WORDS, 1, 2.5, null, true, { a: 1 }, [1, 'x']])) }),
      () => ({ type: 'string', enum: Array.from({ length: 1 + below(20) }, () => pick(WORDS) + pick(WORDS)) }),
      () => ({ const: pick<unknown>([...WORDS, 0, -3, false, null]) }),
    ])();

  const scalar = (): JsonSchema =>
    pick<() => JsonSchema>([
      text,
      text,
      number,
      number,
      values,
      () => ({ type: 'boolean' }),
      () => ({ type: 'null' }),
      () => ({ type: [pick(['string', 'integer']), 'null'], minimum: 3 }),
      () => true,
    ])();

  const array = (depth: number): JsonSchema => {
    const minItems = maybe(0.4, () => below(4));
    const isTuple = random() < 0.25;
    return present({
      type: 'array',
      prefixItems: isTuple ? Array.from({ length: 1 + below(3) }, () => schema(depth - 1)) : undefined,
      items: isTuple ? maybe(0.5, () => pick<() => JsonSchema>([() => false, () => schema(depth - 1)])()) : schema(depth - 1),
      minItems,
      maxItems: maybe(0.4, () => (minItems ?? 0) + below(4)),
    });
  };

  const object = (depth: number): JsonSchema => {
    const names = [...new Set(Array.from({ length: below(6) }, () => pick(NAMES)))];
    const isWide = random() < 0.4;
    return present({
      type: random() < 0.8 ? 'object' : undefined,
      properties: Object.fromEntries(names.map((name) => [name, schema(depth - 1)])),
      required: maybe(0.7, () => [...names.filter(() => random() < 0.5), ...(maybe(0.1, () => ['undeclared']) ?? [])]),
      additionalProperties: isWide ? pick<() => JsonSchema>([() => true, () => false, scalar])() : undefined,
      patternProperties: maybe(0.15, () => ({ [pick(['^x', '^[a-z]+$', '\\d$'])]: scalar() })),
      propertyNames: isWide ? maybe(0.3, () => pick<JsonSchema>([{ maxLength: 6 }, { pattern: '^[a-z_]*$' }])) : undefined,
      maxProperties: maybe(0.15, () => names.length + below(3)),
    });
  };

  const combined = (depth: number): JsonSchema =>
    pick<() => JsonSchema>([
      () => ({ anyOf: Array.from({ length: 1 + below(3) }, () => schema(depth - 1)) }),
      () => ({ oneOf: [text(), number(), { type: 'null' }] }),
      () => ({
        oneOf: ['a', 'b'].map((kind) => ({
          type: 'object',
          properties: { kind: { const: kind }, value: schema(depth - 1) },
          required: ['kind', 'value'],
        })),
      }),
      () => ({ allOf: [object(depth - 1), object(depth - 1)] }),
      () => ({ allOf: [text(), text()] }),
      () => ({ allOf: [number(), { anyOf: [number(), number()] }] }),
      () => ({ type: 'object', properties: { id: scalar() }, anyOf: [{ required: ['id'] }, { required: ['name'] }] }),
      () => ({ anyOf: [object(depth - 1), object(depth - 1), array(depth - 1)] }),
    ])();

  function schema(depth: number): JsonSchema {
    if (depth <= 0) return scalar();
    const [definition] = definitions;
    return pick<() => JsonSchema>([
      scalar,
      scalar,
      () => array(depth),
      () => object(depth),
      () => object(depth),
      () => combined(depth),
      () => (definition === undefined ? scalar() : { $ref: `#/$defs/${pick(definitions)}` }),
    ])();
  }

  const root = pick([object, object, combined, array, schema])(1 + below(3));
  if (typeof root === 'boolean' || definitions.length === 0) return root;
  return { ...root, $defs: Object.fromEntries(definitions.map((name) => [name, { anyOf: [scalar(), object(1)] }])) };
}

const present = (schema: Readonly<Record<string, unknown>>): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
