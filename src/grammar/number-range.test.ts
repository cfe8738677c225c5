import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { createSeededRandom } from '../lib/seeded-random.ts';
import { walkAutomaton } from './__fixtures__/walk-automaton.ts';
import { acceptsText, AutomatonLimitError, isEmpty } from './automaton.ts';
import { numberRangeToAutomaton, type NumberRange } from './number-range.ts';

const CANONICAL = /^(?!-0(?:\.0*)?$)-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

const bound = fc.oneof(
  fc.integer({ min: -50, max: 50 }),
  fc.integer({ min: -5000, max: 5000 }).map((value) => value / 1000),
  fc.maxSafeInteger(),
  fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  fc.constantFrom(0, -0, 1e21, -1e21, 1e-9, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, -Number.MAX_VALUE, 2 ** 63),
);
const maybe = fc.option(bound, { nil: undefined });
const range = fc.record({
  isInteger: fc.boolean(),
  minimum: maybe,
  exclusiveMinimum: maybe,
  maximum: maybe,
  exclusiveMaximum: maybe,
});

const isWithin = (value: number, of: NumberRange): boolean =>
  (!of.isInteger || Number.isInteger(value)) &&
  value >= (of.minimum ?? -Infinity) &&
  value > (of.exclusiveMinimum ?? -Infinity) &&
  value <= (of.maximum ?? Infinity) &&
  value < (of.exclusiveMaximum ?? Infinity);

test('accepts a number as JavaScript writes it if and only if it is within all bounds', () => {
  fc.assert(
    fc.property(range, bound, (bounds, other) => {
      const language = createLanguage(bounds);
      if (language === undefined) return;
      const edges = [other, bounds.minimum, bounds.exclusiveMinimum, bounds.maximum, bounds.exclusiveMaximum];
      for (const edge of edges.filter((value) => value !== undefined)) {
        for (const value of [0, 1, -1, 0.5, -0.5, 1e-6, -1e-6].map((step) => edge + step)) {
          if (!/^-?\d{1,16}(?:\.\d{1,15})?$/.test(String(value))) continue;
          assert.equal(
            acceptsText(language, String(value)),
            isWithin(value, bounds),
            JSON.stringify({ bounds, value }),
          );
        }
      }
    }),
    { numRuns: scalePropertyRuns(200) },
  );
});

test('generates only plain numbers within the bounds', () => {
  fc.assert(
    fc.property(range, fc.integer(), (bounds, seed) => {
      const language = createLanguage(bounds);
      if (language === undefined || isEmpty(language)) return;
      const random = createSeededRandom(seed);
      for (let count = 0; count < 10; count++) {
        const text = walkAutomaton(language, random);
        assert.match(text, CANONICAL);
        assert.ok(isWithin(Number(text), bounds), JSON.stringify({ bounds, text }));
      }
    }),
    { numRuns: scalePropertyRuns(200) },
  );
});

test('rejects texts that round to an exclusive bound', () => {
  const language = numberRangeToAutomaton({ isInteger: false, exclusiveMinimum: 0.1, exclusiveMaximum: 0.3 });
  for (const text of ['0.1', '0.10', '0.100000000000000', '0.3', '0.300', '0.1000000000000000055']) {
    assert.ok(!acceptsText(language, text), text);
  }
  for (const text of ['0.100000000000001', '0.2', '0.299999999999999']) assert.ok(acceptsText(language, text), text);
});

test('accepts multiples of the decimal number', () => {
  const cases: readonly (readonly [Partial<NumberRange>, readonly string[], readonly string[]])[] = [
    [{ isInteger: true, multipleOf: 7 }, ['0', '7', '-14', '7000000007'], ['1', '-13', '7.0', '-0']],
    [{ isInteger: true, multipleOf: 1000 }, ['0', '1000', '-123000'], ['100', '1001', '10']],
    [{ isInteger: true, multipleOf: 60, minimum: 1 }, ['60', '3600'], ['0', '-60', '90']],
    [{ isInteger: true, multipleOf: 1.5 }, ['3', '-6'], ['1', '1.5']],
    [{ multipleOf: 0.01 }, ['0.07', '-1.13', '5', '2.5', '2.50'], ['0.001', '2.500']],
    [{ multipleOf: 0.25, maximum: 1 }, ['0.25', '-7.5', '1', '1.00'], ['0.3', '1.25']],
    [{ multipleOf: 20 }, ['40'], ['10', '40.0']],
    [{ isInteger: true, multipleOf: 86400, minimum: 0, maximum: 1e6 }, ['0', '86400', '950400'], ['86401', '1036800']],
    [{ isInteger: true, multipleOf: 5, minimum: 1, maximum: 4 }, [], ['0', '5', '2']],
  ];
  for (const [{ isInteger = false, ...bounds }, members, others] of cases) {
    const language = numberRangeToAutomaton({ isInteger, ...bounds });
    for (const text of members) assert.ok(acceptsText(language, text), `${JSON.stringify(bounds)} ${text}`);
    for (const text of others) assert.ok(!acceptsText(language, text), `${JSON.stringify(bounds)} ${text}`);
  }
});

test('respects or rejects bounds far beyond the usual number of digits', () => {
  const far = numberRangeToAutomaton({ isInteger: true, minimum: 1e21 });
  assert.ok(acceptsText(far, `1${'0'.repeat(21)}`) && !acceptsText(far, '9'.repeat(21)));
  assert.throws(() => numberRangeToAutomaton({ isInteger: true, minimum: 1e60 }), /beyond 1e40/);
  assert.throws(
    () => numberRangeToAutomaton({ isInteger: false, minimum: 1e-30, maximum: 2e-30 }),
    /15 decimal places/,
  );
  assert.throws(() => numberRangeToAutomaton({ isInteger: true, multipleOf: 0 }), /above 0/);
  assert.throws(() => numberRangeToAutomaton({ isInteger: true, multipleOf: 99_991 }), AutomatonLimitError);
});

function createLanguage(bounds: NumberRange) {
  try {
    return numberRangeToAutomaton(bounds);
  } catch (thrown) {
    assert.ok(thrown instanceof RangeError);
    return undefined;
  }
}
