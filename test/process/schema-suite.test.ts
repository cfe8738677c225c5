import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  findRefusal,
  getSuiteSkipReason,
  readRealSchemas,
  readSuite,
} from '../../src/grammar/__fixtures__/official-suite.ts';
import { createSchemaCheck } from '../../src/grammar/schema-check.ts';

/** Tests of which Parley decides otherwise: it checks formats, and has no vocabularies. */
const isDeliberate = (name: string): boolean =>
  name.startsWith('format.json') || name.startsWith('vocabulary.json: schema that uses custom metaschema');

describe('official test suite of JSON Schema', { skip: getSuiteSkipReason() }, () => {
  for (const [part, count] of [
    ['formats', 491],
    ['required', 1_257],
  ] as const)
    test(`agrees with the ${part} tests`, () => {
      const wrong: string[] = [];
      let tests = 0;
      for (const { name, schema, tests: cases } of readSuite(part)) {
        tests += cases.length;
        const refusal = findRefusal(schema);
        const check = refusal === undefined ? createSchemaCheck(schema) : undefined;
        for (const { description, data, valid } of cases) {
          // A schema without valid values is refused.
          const isValid = check !== undefined && check(data) === undefined;
          const isExpected = isValid === valid && (check !== undefined || refusal?.startsWith('No value is valid'));
          if (!isExpected && !isDeliberate(name)) wrong.push(`${name}: ${description}: ${refusal ?? isValid}`);
        }
      }
      assert.deepEqual(wrong, []);
      assert.equal(tests, count);
    });
});

describe('schemas of configuration files', { skip: getSuiteSkipReason() }, () => {
  for (const title of [
    'Compose Specification',
    'meltano.yml',
    'Renovate config',
    'CircleCI configuration',
    'Pipeline schema',
  ])
    test(`${title}: is compiled to a grammar`, () => {
      const found = readRealSchemas().find(({ schema }) => JSON.stringify(schema).includes(title));
      assert.ok(found);
      assert.equal(findRefusal(found.schema), undefined);
    });
});
