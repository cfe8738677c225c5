import type { JsonSchema } from '../../core/grammar.ts';
import { createSeededRandom } from '../../lib/seeded-random.ts';

/** A schema as callers send it, with a prompt for a model. */
export interface SchemaCase {
  readonly name: string;
  readonly prompt: string;
  readonly schema: JsonSchema;
}

const object = (properties: Readonly<Record<string, JsonSchema>>, optional: readonly string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});

const TEXT: JsonSchema = { type: 'string' };
const SHORT: JsonSchema = { type: 'string', minLength: 1, maxLength: 40 };

/** Schemas written by hand, one for each style of callers. */
export const HAND_WRITTEN_SCHEMAS: readonly SchemaCase[] = [
  {
    name: 'flat object',
    prompt: 'Describe the city of Rome.',
    schema: object({ name: SHORT, country: SHORT, population: { type: 'integer', minimum: 1 } }),
  },
  {
    name: 'enum',
    prompt: 'What is the mood of this review? "The room was clean, but the food was cold."',
    schema: object({ mood: { type: 'string', enum: ['positive', 'negative', 'mixed'] }, reason: SHORT }),
  },
  {
    name: 'optional properties',
    prompt: 'Extract the contact: "Call Ann Lee at 555-0134."',
    schema: object({ name: SHORT, phone: SHORT, email: { type: 'string', format: 'email' } }, ['phone', 'email']),
  },
  {
    name: 'list of objects',
    prompt: 'Give a shopping list for pancakes.',
    schema: object({
      items: {
        type: 'array',
        items: object({ name: SHORT, amount: { type: 'number', exclusiveMinimum: 0 }, unit: { enum: ['g', 'ml', 'pieces'] } }),
        minItems: 2,
        maxItems: 6,
      },
    }),
  },
  {
    name: 'dates and times',
    prompt: 'Plan a meeting about the budget for 3 May 2025 at ten in the morning.',
    schema: object({
      title: SHORT,
      day: { type: 'string', format: 'date' },
      start: { type: 'string', format: 'date-time' },
      minutes: { type: 'integer', minimum: 15, maximum: 240, multipleOf: 15 },
    }),
  },
  {
    name: 'patterns',
    prompt: 'Invent a product with its order number.',
    schema: object({
      sku: { type: 'string', pattern: '^[A-Z]{3}-\\d{4}$' },
      colour: { type: 'string', pattern: '^#[0-9a-f]{6}$' },
      price: { type: 'number', minimum: 0.5, maximum: 999.99 },
    }),
  },
  {
    name: 'alternatives with a tag',
    prompt: 'Draw a circle with radius 3.',
    schema: object({
      shape: {
        oneOf: [
          object({ kind: { const: 'circle' }, radius: { type: 'number', exclusiveMinimum: 0 } }),
          object({ kind: { const: 'square' }, side: { type: 'number', exclusiveMinimum: 0 } }),
        ],
      },
    }),
  },
  {
    name: 'nullable',
    prompt: 'Who wrote the Odyssey, and in which year was the author born?',
    schema: object({ author: SHORT, born: { type: ['integer', 'null'] } }),
  },
  {
    name: 'OpenAPI nullable',
    prompt: 'Describe a library book that nobody has borrowed.',
    schema: object({ title: SHORT, borrower: { type: 'string', nullable: true }, pages: { type: 'integer', format: 'int32' } }),
  },
  {
    name: 'recursive tree',
    prompt: 'Give a small family tree with three generations.',
    schema: {
      $ref: '#/$defs/person',
      $defs: {
        person: object({ name: SHORT, children: { type: 'array', items: { $ref: '#/$defs/person' }, maxItems: 3 } }),
      },
    },
  },
  {
    name: 'pydantic model',
    prompt: 'Ann, 31, lives at 4 Hill Road, Leeds. She is an admin.',
    schema: {
      $defs: {
        Address: {
          properties: { street: { title: 'Street', type: 'string' }, city: { title: 'City', type: 'string' } },
          required: ['street', 'city'],
          title: 'Address',
          type: 'object',
        },
        Role: { enum: ['admin', 'user'], title: 'Role', type: 'string' },
      },
      properties: {
        name: { title: 'Name', type: 'string', maxLength: 60 },
        age: { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }], default: null, title: 'Age' },
        address: { $ref: '#/$defs/Address' },
        role: { $ref: '#/$defs/Role', default: 'user' },
      },
      required: ['name', 'address'],
      title: 'User',
      type: 'object',
    },
  },
  {
    name: 'zod schema',
    prompt: 'Rate the film Jaws.',
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        title: { type: 'string', minLength: 1, maxLength: 80 },
        stars: { type: 'number', minimum: 1, maximum: 5, multipleOf: 0.5 },
        tags: { minItems: 1, maxItems: 4, type: 'array', items: { type: 'string', maxLength: 20 } },
        sequel: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
      required: ['title', 'stars', 'tags', 'sequel'],
      additionalProperties: false,
    },
  },
  {
    name: 'map of numbers',
    prompt: 'How many legs have a dog, a spider and an ant?',
    schema: object({
      legs: { type: 'object', propertyNames: { pattern: '^[a-z]{2,12}$' }, additionalProperties: { type: 'integer', minimum: 0 }, maxProperties: 5 },
    }),
  },
  {
    name: 'tuple',
    prompt: 'Where is Paris? Answer with latitude and longitude.',
    schema: object({
      place: SHORT,
      position: { type: 'array', prefixItems: [{ type: 'number', minimum: -90, maximum: 90 }, { type: 'number', minimum: -180, maximum: 180 }], items: false, minItems: 2 },
    }),
  },
  {
    name: 'allOf',
    prompt: 'Describe an electric car.',
    schema: {
      allOf: [
        { $ref: '#/definitions/vehicle' },
        { type: 'object', properties: { range: { type: 'integer', minimum: 50, maximum: 1000 } }, required: ['range'] },
      ],
      definitions: { vehicle: { type: 'object', properties: { brand: SHORT, doors: { enum: [2, 3, 4, 5] } }, required: ['brand', 'doors'] } },
    },
  },
  {
    name: 'scalar at the root',
    prompt: 'Is water wet?',
    schema: { enum: ['yes', 'no', 'it depends'] },
  },
  {
    name: 'list at the root',
    prompt: 'Name three primes.',
    schema: { type: 'array', items: { type: 'integer', minimum: 2, maximum: 100 }, minItems: 3, maxItems: 3 },
  },
  {
    name: 'deep nesting',
    prompt: 'Set up a web server on port 8080 with two routes.',
    schema: object({
      server: object({
        host: { type: 'string', format: 'hostname' },
        port: { type: 'integer', minimum: 1, maximum: 65_535 },
        routes: { type: 'array', minItems: 1, maxItems: 3, items: object({ path: { type: 'string', pattern: '^/[a-z/]{0,20}$' }, handler: object({ module: SHORT, isCached: { type: 'boolean' } }) }) },
      }),
    }),
  },
  {
    name: 'identifiers',
    prompt: 'Make up a user account.',
    schema: object({ id: { type: 'string', format: 'uuid' }, email: { type: 'string', format: 'email' }, address: { type: 'string', format: 'ipv4' } }),
  },
  {
    name: 'tool arguments',
    prompt: 'What is the weather in Oslo, in celsius?',
    schema: {
      type: 'object',
      properties: { location: { type: 'string', description: 'City and country' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
      required: ['location'],
    },
  },
];

interface FieldVariants {
  readonly name: string;
  readonly variants: readonly JsonSchema[];
}

/** Fields that people extract, each with the variants of its schema. */
const FIELDS: readonly FieldVariants[] = [
  { name: 'title', variants: [TEXT, SHORT, { type: 'string', minLength: 3, maxLength: 60 }] },
  { name: 'summary', variants: [{ type: 'string', maxLength: 200 }, { anyOf: [SHORT, { type: 'null' }] }] },
  { name: 'year', variants: [{ type: 'integer', minimum: 1900, maximum: 2100 }, { type: ['integer', 'null'] }, { type: 'string', pattern: '^\\d{4}$' }] },
  { name: 'price', variants: [{ type: 'number', minimum: 0 }, { type: 'number', minimum: 0, maximum: 500, multipleOf: 0.01 }, object({ amount: { type: 'number', minimum: 0 }, currency: { enum: ['EUR', 'USD', 'GBP'] } })] },
  { name: 'category', variants: [{ enum: ['food', 'travel', 'music', 'sport'] }, { type: 'string', enum: ['a', 'b', 'c'] }, { const: 'general' }] },
  { name: 'tags', variants: [{ type: 'array', items: SHORT, maxItems: 4 }, { type: 'array', items: { enum: ['new', 'used', 'rare'] }, minItems: 1, maxItems: 2 }] },
  { name: 'isActive', variants: [{ type: 'boolean' }, { type: ['boolean', 'null'] }] },
  { name: 'contact', variants: [{ type: 'string', format: 'email' }, object({ name: SHORT, phone: { type: 'string', pattern: '^\\+?[0-9 ]{5,15}$' } }, ['phone'])] },
  { name: 'when', variants: [{ type: 'string', format: 'date' }, { type: 'string', format: 'date-time' }, { type: 'string', format: 'time' }] },
  { name: 'rating', variants: [{ type: 'integer', minimum: 1, maximum: 5 }, { type: 'number', exclusiveMinimum: 0, maximum: 10 }] },
  { name: 'items', variants: [{ type: 'array', minItems: 1, maxItems: 3, items: object({ name: SHORT, count: { type: 'integer', minimum: 1, maximum: 99 } }) }] },
  { name: 'extra', variants: [{ type: 'object', additionalProperties: SHORT, maxProperties: 3 }] },
];

const TOPICS = ['a used bicycle for sale', 'a concert next summer', 'a pizza restaurant', 'a mountain hike', 'a novel', 'a football match'];

/** Schemas generated from the fields above with a fixed seed: other numbers, names and nesting in the same styles. */
const VARIED_SCHEMAS: readonly SchemaCase[] = Array.from({ length: 200 - HAND_WRITTEN_SCHEMAS.length }, (_, at) => {
  const random = createSeededRandom(at + 1);
  const below = (count: number): number => Math.floor(random() * count);
  const fields = FIELDS.filter(() => random() < 0.35);
  const chosen = fields.length > 0 ? fields : FIELDS.slice(0, 2);
  const properties = Object.fromEntries(
    chosen.map(({ name, variants }): [string, JsonSchema] => [name, variants[below(variants.length)] ?? true]),
  );
  const optional = chosen.map(({ name }) => name).filter(() => random() < 0.25);
  const inner = object(properties, optional);
  const schema = below(4) === 0 ? object({ result: inner, confidence: { type: 'number', minimum: 0, maximum: 1 } }) : inner;
  const topic = TOPICS[at % TOPICS.length] ?? '';
  return { name: `variation ${at + 1}: ${chosen.map(({ name }) => name).join(', ')}`, prompt: `Make up an entry about ${topic}.`, schema };
});

/** 200 schemas for tests on real models; the first are written by hand. */
export const REALISTIC_SCHEMAS: readonly SchemaCase[] = [...HAND_WRITTEN_SCHEMAS, ...VARIED_SCHEMAS];
