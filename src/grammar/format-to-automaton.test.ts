import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { createSeededRandom } from '../lib/seeded-random.ts';
import { walkAutomaton } from './__fixtures__/walk-automaton.ts';
import { acceptsText } from './automaton.ts';
import { formatToAutomaton } from './format-to-automaton.ts';

const FORMATS: Readonly<Record<string, { readonly valid: readonly string[]; readonly invalid: readonly string[] }>> = {
  date: {
    valid: ['2024-02-29', '2000-02-29', '1999-12-31', '0001-01-01'],
    invalid: ['2023-02-29', '1900-02-29', '2024-04-31', '2024-13-01', '2024-1-1', '0000-01-01', '2024-01-01\n'],
  },
  time: { valid: ['23:59:59Z', '00:00:00.123+05:30'], invalid: ['24:00:00Z', '12:00:00', '12:60:00Z'] },
  'date-time': { valid: ['2024-02-29T12:30:00Z'], invalid: ['2024-02-29 12:30:00Z', '2023-02-29T12:30:00Z'] },
  duration: { valid: ['P1Y2M3DT4H5M6S', 'PT36H', 'P2W'], invalid: ['P', 'PT', 'P1W2D', 'P1Y2D', '1D'] },
  email: {
    valid: ['a@b.co', 'first.last+tag@mail.example.org'],
    invalid: ['a', 'a@b', '.a@b.co', 'a..b@c.de', 'a@-b.co', `${'a'.repeat(65)}@b.co`],
  },
  hostname: { valid: ['localhost', 'db-1.example.com'], invalid: ['', '-a', 'a-', 'a..b', 'a_b', 'a'.repeat(64)] },
  ipv4: { valid: ['0.0.0.0', '255.255.255.255'], invalid: ['256.1.1.1', '1.2.3', '01.2.3.4'] },
  ipv6: { valid: ['::', '::1', '1::', 'fe80::1:2', '1:2:3:4:5:6:7:8'], invalid: [':', '1:2:3', '1::2::3', '12345::'] },
  uuid: { valid: ['123e4567-e89b-12d3-a456-426614174000'], invalid: ['123e4567e89b12d3a456426614174000', ''] },
  uri: {
    valid: ['https://example.com/a/b?c=d#e', 'mailto:a@b.co', 'urn:isbn:1', 'http://127.0.0.1:8080/', 'file:///etc'],
    invalid: ['example.com', '/a', 'https://', 'https://a b', 'http://[', 'https://a.com:99999', 'http:a', 'a://%zz'],
  },
  'uri-reference': { valid: ['', '/a/b', 'a?b', '#c', 'https://a.de'], invalid: ['\\a', 'a b', '1:2'] },
  'uri-template': { valid: ['/a'], invalid: ["'"] },
  'json-pointer': { valid: ['', '/a~0~1/é'], invalid: ['a', '/~', '/~2'] },
  'relative-json-pointer': { valid: ['0', '1/a', '2#'], invalid: ['/a', '01', '#'] },
  byte: { valid: ['', 'YQ==', 'YWI=', 'YWJj'], invalid: ['YQ', 'YR==', 'Y', 'YW=I'] },
};

test('accepts common values of each format and rejects invalid ones', () => {
  for (const [format, { valid, invalid }] of Object.entries(FORMATS)) {
    const language = formatToAutomaton(format);
    assert.ok(language);
    for (const text of valid) assert.ok(acceptsText(language, text), `${format} ${text}`);
    for (const text of invalid) assert.ok(!acceptsText(language, text), `${format} ${text}`);
  }
});

test('accepts only texts that another validator accepts in both of its modes', () => {
  const judges = (['full', 'fast'] as const).map((mode) => addFormats.default(new Ajv2020(), { mode }));
  for (const format of Object.keys(FORMATS)) {
    const language = formatToAutomaton(format);
    assert.ok(language);
    const random = createSeededRandom(7);
    const texts = Array.from({ length: scalePropertyRuns(100) }, () => walkAutomaton(language, random));
    for (const judge of judges) {
      const isValid = judge.compile({ type: 'string', format });
      for (const text of texts) assert.ok(isValid(text), `${format} ${text}`);
    }
    if (format === 'uri') for (const text of texts) assert.ok(URL.canParse(text), text);
  }
});

test('has no automaton for a format that does not restrict the text', () => {
  for (const format of ['regex', 'password', 'int32', 'nonsense', '__proto__'])
    assert.equal(formatToAutomaton(format), undefined);
});
