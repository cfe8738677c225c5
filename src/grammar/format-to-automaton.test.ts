import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { createSeededRandom } from '../lib/seeded-random.ts';
import { walkAutomaton } from './__fixtures__/walk-automaton.ts';
import { isOfFormat } from './format-checks/is-of-format.ts';
import { formatToAutomaton } from './format-to-automaton.ts';

/** Formats whose automaton is exact; for others, only texts that match the expression count. */
const EXACT: Readonly<Record<string, RegExp>> = {
  date: /^/,
  time: /:[0-5]\d(?:\.\d+)?(?:Z|[+-]..:..)$/i,
  'date-time': /:[0-5]\d(?:\.\d+)?(?:Z|[+-]..:..)$/i,
  duration: /^/,
  email: /^[^[]{1,60}$/,
  hostname: /^(?!.*xn--).{1,60}$/i,
  ipv4: /^/,
  ipv6: /^/,
  uuid: /^/,
  uri: /^[^[]*$/,
  iri: /^[^[]*$/,
  'uri-reference': /^[^[]*$/,
  'iri-reference': /^[^[]*$/,
  'uri-template': /^/,
  'json-pointer': /^/,
  'relative-json-pointer': /^/,
  byte: /^/,
};

for (const [format, part] of Object.entries(EXACT))
  test(`the automaton of ${format} accepts only texts that the check accepts`, () => {
    const automaton = formatToAutomaton(format);
    assert.ok(automaton);
    const random = createSeededRandom(7);
    const texts = Array.from({ length: scalePropertyRuns(300) }, () => walkAutomaton(automaton, random));
    const exact = texts.filter((text) => part.test(text));
    assert.ok(exact.length > texts.length / 4, `${exact.length} of ${texts.length}`);
    for (const text of exact) assert.ok(isOfFormat(text, format), JSON.stringify(text));
  });

/** Texts that Ajv accepts and the standards do not: encoded labels that encode nothing, long labels and local parts. */
const WRONG_FOR_STANDARDS = /xn--|[^.@:/]{60}|.{60}@/i;

test('the check accepts every text of the automata that a usual validator accepts', () => {
  const ajv = addFormats.default(new Ajv2020(), { mode: 'full' });
  for (const format of Object.keys(EXACT).filter((each) => each in ajv.formats)) {
    const automaton = formatToAutomaton(format);
    assert.ok(automaton);
    const isValid = ajv.compile({ type: 'string', format });
    const random = createSeededRandom(8);
    const texts = Array.from({ length: scalePropertyRuns(300) }, () => walkAutomaton(automaton, random));
    for (const text of texts.filter((each) => isValid(each) && !WRONG_FOR_STANDARDS.test(each)))
      assert.ok(isOfFormat(text, format), `${format} ${JSON.stringify(text)}`);
  }
});
