import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Grammar, JsonSchema } from '../core/grammar.ts';
import { parseTestGbnf } from './__fixtures__/test-gbnf-parser.ts';
import { compileGrammar } from './compile-grammar.ts';
import { GrammarError } from './grammar-error.ts';

const ofSchema = (schema: JsonSchema): Grammar => ({ type: 'schema', schema, field: 'tools[0].function.parameters' });

function accepts(grammar: Grammar, text: string): boolean {
  return parseTestGbnf(compileGrammar(grammar).gbnf).parseText(text).accepted;
}

const CITY = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
};

describe('compileGrammar for a schema', () => {
  const cases: readonly { name: string; schema: JsonSchema; yes: readonly string[]; no: readonly string[] }[] = [
    {
      name: 'wants the required properties, in the declared order, and no others',
      schema: CITY,
      yes: ['{"city":"Rome"}', '{"city": "Rome", "days": 3}', '{"city":"","days":-1}'],
      no: [
        '{}',
        '{"days":3}',
        '{"days":3,"city":"Rome"}',
        '{"city":"Rome","x":1}',
        '{"city":"Rome",}',
        '{ "city":"Rome"}',
      ],
    },
    {
      name: 'lets other properties in where it says so',
      schema: { ...CITY, additionalProperties: { type: 'boolean' } },
      yes: ['{"city":"Rome","x":true}', '{"city":"Rome","x":true,"":false}'],
      no: ['{"city":"Rome","x":1}', '{"city":"Rome","city":true}', '{"city":"Rome","x":true,"days":1}'],
    },
    {
      name: 'lets every property in where none is declared',
      schema: { type: 'object' },
      yes: ['{}', '{"a":{"b":[1,"x",null,-2.5,true,{}]}}'],
      no: ['[]', '{"a":}', '{a:1}'],
    },
    {
      name: 'lets any JSON in where nothing is said',
      schema: true,
      yes: ['null', '"x"', '-1.5', '[]', '[[1,2],{}]', '"é\\n"'],
      no: ['', 'nul', '01', '"\\u00e9"', '"\n"', '[1,]', '"\\x"'],
    },
    {
      name: 'has names that patterns ask for one by one no more than once',
      schema: {
        patternProperties: { '^x$': { type: 'integer' }, '^(?:y|z)$': { type: 'null' }, '^n': { type: 'null' } },
        additionalProperties: false,
      },
      yes: ['{}', '{"x":10}', '{"x":1,"z":null}', '{"y":null,"z":null}', '{"x":1,"na":null,"nb":null}'],
      no: ['{"x":10,"x":20}', '{"x":null}', '{"y":null,"y":null}', '{"xx":1}', '{"n":1}'],
    },
    {
      name: 'takes an object for meant where there are properties without a type',
      schema: { properties: { a: { const: 1 } } },
      yes: ['{}', '{"a":1}'],
      no: ['1', '{"a":2}'],
    },
    {
      name: 'knows names with special characters',
      schema: { properties: { 'a"\\\n': { const: '"\\\n' } }, required: ['a"\\\n'] },
      yes: ['{"a\\"\\\\\\n":"\\"\\\\\\n"}'],
      no: ['{}'],
    },
    {
      name: 'holds several types',
      schema: { type: ['string', 'null', 'integer'], minimum: 3, maxLength: 2 },
      yes: ['null', '"ab"', '3', '40'],
      no: ['"abc"', '2', '3.5', 'true'],
    },
    {
      name: "holds OpenAPI's nullable",
      schema: { type: 'string', nullable: true },
      yes: ['null', '"x"'],
      no: ['1'],
    },
    {
      name: 'holds exclusive bounds as numbers and, from draft 4, as booleans',
      schema: {
        anyOf: [
          { type: 'integer', exclusiveMinimum: 1, maximum: 3 },
          { type: 'integer', minimum: 7, exclusiveMinimum: true, maximum: 9 },
        ],
      },
      yes: ['2', '3', '8', '9'],
      no: ['1', '4', '7', '10'],
    },
    {
      name: 'counts items',
      schema: { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 3 },
      yes: ['[true]', '[true, false,true]'],
      no: ['[]', '[true,true,true,true]', '[1]'],
    },
    {
      name: 'holds tuples, in both spellings',
      schema: {
        anyOf: [
          { prefixItems: [{ const: 1 }, { const: 2 }], items: { const: 3 } },
          { items: [{ const: 'a' }], additionalItems: false },
        ],
      },
      yes: ['[]', '[1]', '[1,2]', '[1,2,3,3]', '["a"]'],
      no: ['[2]', '[1,3]', '["a","a"]'],
    },
    {
      name: 'joins the schemas of allOf',
      schema: {
        allOf: [
          { properties: { a: { type: 'integer', minimum: 1 } }, required: ['a'] },
          { properties: { a: { maximum: 5 }, b: { type: 'string' } } },
          { anyOf: [{ required: ['b'] }, { properties: { a: { const: 4 } } }] },
        ],
      },
      yes: ['{"a":2,"b":"x"}', '{"a":4}'],
      no: ['{"a":2}', '{"a":6,"b":"x"}', '{"b":"x"}'],
    },
    {
      name: 'follows references with what stands beside them, anchors and older ids',
      schema: {
        properties: {
          a: { $ref: '#/definitions/n', maximum: 5 },
          b: { $ref: '#text' },
          c: { $ref: 'https://example.com/s#/$defs/x~1y' },
          d: { $ref: '#old' },
        },
        required: ['a', 'b', 'c', 'd'],
        definitions: { n: { type: 'integer', minimum: 2 }, o: { $id: '#old', const: 'o' } },
        $defs: { t: { $anchor: 'text', type: 'string' }, 'x/y': { type: 'null' } },
        $id: 'https://example.com/s',
      },
      yes: ['{"a":3,"b":"","c":null,"d":"o"}'],
      no: ['{"a":1,"b":"","c":null,"d":"o"}', '{"a":6,"b":"","c":null,"d":"o"}', '{"a":3,"b":1,"c":null,"d":"o"}'],
    },
    {
      name: 'follows recursion',
      schema: {
        $ref: '#/$defs/tree',
        $defs: {
          tree: { properties: { v: { type: 'integer' }, kids: { items: { $ref: '#/$defs/tree' } } }, required: ['v'] },
        },
      },
      yes: ['{"v":1}', '{"v":1,"kids":[{"v":2,"kids":[]},{"v":3}]}'],
      no: ['{"kids":[]}', '{"v":1,"kids":[{}]}'],
    },
    {
      name: 'filters the values of an enum by all other keywords',
      schema: {
        enum: ['a', 'bbb', 3, 8, null, [1, 1]],
        anyOf: [
          { type: 'string', minLength: 2 },
          { type: 'number', not: { const: 3 } },
          { uniqueItems: true, type: 'array' },
        ],
      },
      yes: ['"bbb"', '8'],
      no: ['"a"', '3', 'null', '[1,1]'],
    },
    {
      name: 'names the properties that a pattern describes',
      schema: {
        properties: { x1: { type: 'null' } },
        patternProperties: { '^x': { type: ['integer', 'null'] }, '1$': { type: ['string', 'null'] } },
      },
      yes: ['{}', '{"x1":null,"x2":3,"a1":"s"}', '{"x11":null}'],
      no: ['{"x1":1}', '{"x2":"s"}', '{"x11":1}', '{"other":1}'],
    },
    {
      name: 'takes unevaluated properties for undeclared ones',
      schema: {
        $ref: '#/$defs/base',
        properties: { b: { type: 'integer' } },
        unevaluatedProperties: { type: 'null' },
        $defs: { base: { properties: { a: { type: 'string' } }, required: ['a'] } },
      },
      yes: ['{"b":1,"a":""}', '{"a":"","c":null}'],
      no: ['{"a":1}', '{"a":"","c":1}', '{"b":1}'],
    },
    {
      name: 'allows no unevaluated properties and items where none may be',
      schema: {
        prefixItems: [{ properties: { a: true }, unevaluatedProperties: false }],
        unevaluatedItems: false,
        minItems: 1,
      },
      yes: ['[{}]', '[{"a":1}]'],
      no: ['[{"b":1}]', '[{},{}]', '[]'],
    },
    {
      name: 'leaves unevaluated members to the check where a condition may evaluate them',
      schema: JSON.parse(
        '{"properties":{"a":{"type":"integer"}},"if":{"required":["a"]},"then":{"properties":{"b":{"type":"null"}}},"unevaluatedProperties":false}',
      ),
      yes: ['{"a":1,"b":null}', '{"a":1,"b":2}'],
      no: ['{"a":"x"}'],
    },
    {
      name: 'allows every target of a dynamic reference',
      schema: {
        $id: 'https://example.com/list',
        $ref: 'tree',
        $defs: {
          item: { $dynamicAnchor: 'item', type: 'integer' },
          tree: {
            $id: 'tree',
            items: { $dynamicRef: '#item' },
            $defs: { any: { $dynamicAnchor: 'item', type: 'string' } },
          },
        },
      },
      yes: ['[]', '[1,2]', '["a"]'],
      no: ['[null]', '[[]]'],
    },
    {
      name: 'follows references to documents in $defs',
      schema: {
        $ref: 'https://example.com/a.json#/$defs/x',
        $defs: {
          a: { $id: 'https://example.com/a.json', $defs: { x: { $ref: 'b.json' } } },
          b: { $id: 'https://example.com/b.json', type: 'null' },
        },
      },
      yes: ['null'],
      no: ['1'],
    },
    {
      name: 'allows any value of their types for too many alternatives',
      schema: {
        type: 'object',
        properties: { a: { type: 'integer' } },
        required: ['a'],
        anyOf: Array.from({ length: 300 }, (_, at) => ({ properties: { [`p${at}`]: { const: at } } })),
      },
      yes: ['{"a":1}', '{"a":1,"p3":3}', '{"a":1,"p3":4}'],
      no: ['{"a":""}', '{}', '1'],
    },
    {
      name: 'limits names by propertyNames',
      schema: { type: 'object', propertyNames: { enum: ['a', 'b'] }, additionalProperties: { type: 'integer' } },
      yes: ['{}', '{"a":1}'],
      no: ['{"c":1}'],
    },
    {
      name: 'counts properties',
      schema: { properties: { a: true, b: true, c: true }, minProperties: 2, maxProperties: 2 },
      yes: ['{"a":1,"b":2}', '{"a":1,"c":2}'],
      no: ['{}', '{"b":1}', '{"a":1,"b":2,"c":3}'],
    },
    {
      name: 'leaves out what can never be',
      schema: {
        properties: { a: false, b: { $ref: '#/$defs/endless' } },
        $defs: { endless: { properties: { b: { $ref: '#/$defs/endless' } }, required: ['b'] } },
      },
      yes: ['{}'],
      no: ['{"a":1}', '{"b":{}}'],
    },
    {
      name: 'limits integers of the format int32',
      schema: { type: 'integer', format: 'int32', maximum: 1e12 },
      yes: ['2147483647', '-2147483648', '0'],
      no: ['2147483648', '-2147483649', '3000000000000011'],
    },
    {
      name: 'does not limit other types and multiples by the format int32',
      schema: {
        anyOf: [
          { type: 'number', format: 'int32', minimum: 2 ** 31 },
          { type: 'integer', format: 'int32', multipleOf: 5 },
          { type: 'string', format: 'int32' },
        ],
      },
      yes: ['2147483648', '"x"', '3000000000'],
      no: ['7', 'true'],
    },
    {
      name: 'ignores what only describes',
      schema: {
        type: 'integer',
        title: 't',
        description: 'd',
        default: 1,
        examples: ['x'],
        deprecated: true,
        $comment: 'c',
        'x-own': {},
        format: 'int64',
        contentEncoding: 'base64',
      },
      yes: ['1'],
      no: ['"x"'],
    },
  ];
  for (const { name, schema, yes, no } of cases) {
    test(name, () => {
      const grammar = parseTestGbnf(compileGrammar(ofSchema(schema)).gbnf);
      for (const text of yes) assert.ok(grammar.parseText(text).accepted, `${text} is let through`);
      for (const text of no) assert.ok(!grammar.parseText(text).accepted, `${text} is not let through`);
    });
  }
});

describe('compileGrammar rejects a schema with path, keyword and rule:', () => {
  const cases: readonly { schema: JsonSchema; message: string }[] = [
    { schema: false, message: 'No value is valid under the schema (tools[0].function.parameters).' },
    {
      schema: { required: 'a' },
      message: 'required must be a list of names, got "a" (tools[0].function.parameters, at #).',
    },
    {
      schema: { properties: { a: { minimum: '1' } } },
      message: 'minimum must be a number, got "1" (tools[0].function.parameters, at #/properties/a).',
    },
    {
      schema: { type: 'text' },
      message: 'type must be a type of JSON Schema or a list of them, got "text" (tools[0].function.parameters, at #).',
    },
    {
      schema: { items: { enum: [] }, minItems: 1 },
      message: 'enum must name at least one value, got [] (tools[0].function.parameters, at #/items).',
    },
    {
      schema: { type: 'integer', minimum: 5, maximum: 3 },
      message: 'minimum 5 with maximum 3 leaves no number (tools[0].function.parameters, at #).',
    },
    {
      schema: { allOf: [{ type: 'string' }, { type: 'integer' }] },
      message:
        'type allows no value that the schemas combined with it allow (tools[0].function.parameters, at #/allOf/0).',
    },
    {
      schema: { $ref: 'https://example.com/other' },
      message:
        '$ref "https://example.com/other" points to a document that the schema does not include; add it to $defs with its address as $id (tools[0].function.parameters, at #).',
    },
    {
      schema: { $ref: '#/$defs/none' },
      message: '$ref "#/$defs/none" does not resolve to a schema (tools[0].function.parameters, at #).',
    },
    {
      schema: { $recursiveRef: '#' },
      message: '$recursiveRef is not supported (tools[0].function.parameters, at #).',
    },
    {
      schema: { properties: { a: { type: 'string', pattern: 'a(?=b)' } } },
      message:
        'pattern has a lookahead that does not directly follow a ^ at its start, which is not supported (tools[0].function.parameters, at #/properties/a).',
    },
    {
      schema: { type: 'string', pattern: '^(?:a{900}){900}$' },
      message:
        'pattern needs more than 20000 nodes after its repetitions are unrolled (tools[0].function.parameters, at #).',
    },
    {
      schema: { enum: [Infinity] },
      message: 'enum must hold values of JSON, got [null] (tools[0].function.parameters, at #).',
    },
  ];
  for (const { schema, message } of cases) {
    test(message, () => {
      assert.throws(
        () => compileGrammar(ofSchema(schema)),
        (error) =>
          error instanceof GrammarError && error.message === message && error.field === 'tools[0].function.parameters',
      );
    });
  }
});

describe('compileGrammar', () => {
  test('excludes a text', () => {
    const value: Grammar = {
      type: 'sequence',
      parts: [
        { type: 'without-text', text: '</a>' },
        { type: 'text', text: '</a>' },
      ],
    };
    for (const text of ['</a>', 'x</a>', '<</a>', '</</a>', 'a\n</ä</a>', '"\\</A></a>'])
      assert.ok(accepts(value, text), text);
    for (const text of ['', 'x', '</a></a>', '</a>x</a>', '</a> ']) assert.ok(!accepts(value, text), text);
  });

  test('combines texts, choices and excluded characters', () => {
    const call: Grammar = {
      type: 'sequence',
      parts: [
        {
          type: 'choice',
          options: [
            { type: 'text', text: '\n' },
            { type: 'text', text: '"[\\]\t' },
          ],
        },
        { type: 'without', characters: '<]"\\^-' },
        { type: 'text', text: '<' },
        ofSchema({ const: 1 }),
      ],
    };
    assert.ok(accepts(call, '\nabc<1'));
    assert.ok(accepts(call, '"[\\]\tabc<1'));
    for (const text of ['\n<1', '\na]<1', '\na^<1', '\na-<1', '\nabc<2', 'abc<1'])
      assert.ok(!accepts(call, text), text);
  });

  test('names the field of the impossible schema among several', () => {
    const call: Grammar = {
      type: 'choice',
      options: [ofSchema({ const: 1 }), { type: 'schema', schema: { enum: ['a'], type: 'null' }, field: 'tools[1]' }],
    };
    assert.throws(
      () => compileGrammar(call),
      (error) =>
        error instanceof GrammarError && error.field === 'tools[1]' && error.message.startsWith('none of the values'),
    );
  });

  test('keeps the objects around formats with lengths', () => {
    const lengths = { email: 254, uri: 200, 'uri-reference': 255, iri: 500, 'idn-email': 320, hostname: 100 };
    const schema = {
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(lengths).map(([format, maxLength]) => [format, { type: 'string', format, maxLength }]),
      ),
      additionalProperties: false,
    };
    assert.ok(accepts(ofSchema(schema), '{"email":"a@b","uri":"a:b"}'));
    assert.ok(!accepts(ofSchema(schema), '{"zzz":1}'));
    assert.ok(!accepts(ofSchema(schema), '{"email":"a b"}'), 'the formats stay');
  });

  test('writes a small grammar for a small schema', () => {
    assert.equal(
      compileGrammar(
        ofSchema({ properties: { unit: { enum: ['C', 'F'] }, on: { type: 'boolean' } }, required: ['unit', 'on'] }),
      ).gbnf,
      [
        'root ::= "{\\"unit\\":" " "? "\\"" r0 "," " "? "\\"on\\":" " "? r2 "}"',
        'r2 ::= "false" | "true"',
        'r0 ::= "C\\"" | "F\\""',
        '',
      ].join('\n'),
    );
  });
});
