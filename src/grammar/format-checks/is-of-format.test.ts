import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { acceptsText } from '../automaton.ts';
import { compileGrammar } from '../compile-grammar.ts';
import { formatToAutomaton } from '../format-to-automaton.ts';
import { parseTestGbnf } from '../__fixtures__/test-gbnf-parser.ts';
import { createUnusualTexts } from './__fixtures__/create-unusual-texts.ts';
import { isOfFormat } from './is-of-format.ts';

/** RFC 3987, section 4.1. */
const BIDI_CONTROLS = ['\u200e', '\u200f', '\u202a', '\u202b', '\u202c', '\u202d', '\u202e'];

/** Texts as they occur in documents, besides those of the official suite. */
const CASES: Readonly<Record<string, { readonly valid: readonly string[]; readonly invalid: readonly string[] }>> = {
  email: {
    valid: [
      'internationalrelations@example.com',
      'anna.maria.luisa.rossi@posta.example.it',
      "o'brien@example.ie",
      'a@b',
      'first+tag/department=sales@sub-domain.example.co.uk',
      '"with space and @"@example.com',
      'user@[192.168.0.1]',
      'user@[IPv6:2001:db8::1]',
      `${'a'.repeat(64)}@${'b'.repeat(63)}.example`,
      `${'a'.repeat(64)}@${'b.'.repeat(94)}b`,
      `a@${'b.'.repeat(125)}b`,
    ],
    invalid: [
      'a',
      '@b',
      'a@',
      '.a@b',
      'a..b@c',
      'a@-b',
      'a@b_c',
      'a b@c',
      `${'a'.repeat(65)}@b`,
      `a@${'b'.repeat(64)}`,
      'a@[1.2.3]',
      'a@[IPv6:1.2.3.4]',
      'a@[IPv6:fe80::1%eth0]',
      '"a@b',
      '"a"b"@c',
      '"a\\"@b',
      'é@b',
      `a@${'b.'.repeat(126)}bb`,
      `${'a'.repeat(64)}@${'b.'.repeat(94)}bb`,
    ],
  },
  'idn-email': {
    valid: ['söndag@exämple.com', 'a@b', '用户@例子.广告', 'üser@[1.2.3.4]'],
    invalid: ['é', `${'é'.repeat(33)}@b`, 'a@é..b', 'a@a\u0301b', 'a@\u2260', `${'é'.repeat(32)}@${'b.'.repeat(94)}bb`],
  },
  hostname: {
    valid: ['localhost', 'r3---sn-abc.example', '1', `${'a'.repeat(63)}.b`, 'XN--MNCHEN-3YA.de', '3com.com'],
    invalid: [
      '',
      '.',
      'a.',
      '-a',
      'a-',
      'a..b',
      'a_b',
      'a'.repeat(64),
      `${'a.'.repeat(126)}aa`,
      'xn--a',
      'xn--0zwm56d-x',
    ],
  },
  'idn-hostname': {
    valid: ['münchen.de', 'faß.de', 'пример.испытание', 'ابجد.com', 'a。b', 'xn--mnchen-3ya.de', 'क्\u200cष'],
    invalid: [
      '',
      'ab--é',
      'ÉCOLE',
      'Müller.de',
      '-é',
      'é-',
      'é..a',
      '💩.la',
      'é'.repeat(63),
      'אa',
      'a\u200db',
      'नी\u200cकम',
      'xn--ls8h.la',
    ],
  },
  ipv4: { valid: ['0.0.0.0', '255.255.255.255'], invalid: ['256.1.1.1', '1.2.3', '01.2.3.4', '1.2.3.4\n', '٣.1.1.1'] },
  ipv6: {
    valid: [
      '::',
      '::1',
      '1::',
      'fe80::1:2',
      '1:2:3:4:5:6:7:8',
      '1:2:3:4:5:6:7::',
      '::ffff:1.2.3.4',
      '1:2:3:4:5:6:1.2.3.4',
    ],
    invalid: [':', '1:2:3', '1::2::3', '12345::', 'fe80::1%eth0', '1:2:3:4:5:6:7:1.2.3.4', '::1.2.3', ':::1'],
  },
  uri: {
    valid: [
      'ssh://git@example.com:22/team/repository.git',
      'postgres://app:secret@db.internal:5432/app?sslmode=require',
      'http://[2001:db8::7]:8080/',
      'http://[v1.fe:80]/',
      'mailto:o%27brien@example.com',
      'urn:isbn:0451450523',
      'tel:+1-816-555-1212',
      'file:///etc/hosts',
      'data:text/plain;base64,SGVsbG8=',
      'HTTPS://EXAMPLE.com:/a//b/../c;x=1?q=a?b/c#f/?',
      'jdbc:postgresql://localhost/db',
      'a:',
      'https://user:@host_name.example/',
    ],
    invalid: [
      'example.com',
      '/a',
      ':a',
      '1a:b',
      'a:b c',
      'a:é',
      'http://[::1',
      'http://[::1%25eth0]/',
      'http://a:b/',
      'a://%zz',
      'a:#b#c',
      'a:"',
      'http://a@b@c/',
      'http://[fe80]/',
    ],
  },
  'uri-reference': {
    valid: ['', '/a/b', 'a?b', '#c', '//host', '../a:b', './1:2', 'a//b'],
    invalid: ['\\a', 'a b', '1:2', ':a', 'a:b:%'],
  },
  iri: {
    valid: ['https://müller.example/straße?ä=\u{e000}#é'],
    invalid: [
      '/é',
      'https://a/\u{fffe}',
      'https://a/#\u{e000}',
      ...BIDI_CONTROLS.map((each) => `https://a/b${each}?c`),
    ],
  },
  'iri-reference': { valid: ['é', '//é'], invalid: ['é:a', 'é é', ...BIDI_CONTROLS.map((each) => `é#${each}`)] },
  'uri-template': {
    valid: ['/a/{b}', '{+a,b*,c:3}', '{?q.x,%20y}', 'é', ''],
    invalid: ["it's", '{', '}', '{a', '{}', '{a:0}', '{a b}', '{a..b}', '%4'],
  },
  date: {
    valid: ['2024-02-29', '2000-02-29', '0000-02-29', '9999-12-31'],
    invalid: ['2023-02-29', '1900-02-29', '2024-04-31', '2024-00-01', '2024-1-1', '2024-01-01\n', '２024-01-01'],
  },
  time: {
    valid: ['23:59:60Z', '00:00:00.123456789012345z', '01:29:60+01:30'],
    invalid: ['24:00:00Z', '12:00:00', '12:60:00Z', '12:00:60Z', '23:59:60+01:00', '12:00:00.Z', '12:00:00+24:00'],
  },
  'date-time': {
    valid: ['1998-12-31t23:59:60.5z'],
    invalid: ['2024-01-01 12:00:00Z', '2023-02-29T12:00:00Z', '2024-01-01T'],
  },
  duration: {
    valid: [
      'P1Y2M3DT4H5M6S',
      'PT36H',
      'P2W',
      'P12345678901234567890D',
      'PT1H30S',
      'P1Y10D',
      'P1Y2DT3H4S',
      'PT1.5S',
      'PT1M0,25S',
    ],
    invalid: [
      'P',
      'PT',
      'P1DT',
      'P1W2D',
      'P1D2Y',
      'PT1S2H',
      'P1Y1Y',
      '1D',
      'PT1.S',
      'PT.5S',
      'PT1.5M',
      'P1.5D',
      'P1D\n',
    ],
  },
  uuid: {
    valid: ['123E4567-e89b-12d3-a456-426614174000'],
    invalid: ['123e4567e89b12d3a456426614174000', '', 'g23e4567-e89b-12d3-a456-426614174000'],
  },
  'json-pointer': { valid: ['', '/a~0~1/é', '/'], invalid: ['a', '/~', '/~2'] },
  'relative-json-pointer': { valid: ['0', '1/a', '2#', '1+1/a', '10-2#'], invalid: ['/a', '01', '#', '1+0', '1#/a'] },
  regex: { valid: ['^[a-z]+$', '(?<=a)b', '\\p{L}'], invalid: ['(', '\\a', '[z-a]', '*'] },
  byte: { valid: ['', 'QUI=', 'QQ==', 'QR==', 'QUJD'], invalid: ['QUI', 'Q===', 'QU=I', 'QUI=\n', 'QU I='] },
};

const parseStringGrammar = (format: string) =>
  parseTestGbnf(compileGrammar({ type: 'schema', schema: { type: 'string', format }, field: 'schema' }).gbnf);

describe('isOfFormat and the grammar', () => {
  for (const [format, { valid, invalid }] of Object.entries(CASES))
    test(`accept texts of the format ${format}, and the check no others`, () => {
      const grammar = parseStringGrammar(format);
      for (const text of valid) {
        assert.ok(isOfFormat(text, format), text);
        assert.ok(grammar.parseText(JSON.stringify(text)).accepted, text);
      }
      for (const text of invalid) assert.ok(!isOfFormat(text, format), text);
    });

  for (const [format, texts] of Object.entries(createUnusualTexts(300)))
    test(`accept ${texts.length} texts of unusual shape of the format ${format}`, () => {
      const automaton = formatToAutomaton(format);
      assert.ok(automaton);
      for (const text of texts) {
        assert.ok(isOfFormat(text, format), text);
        assert.ok(acceptsText(automaton, text), text);
      }
    });

  test('accept anything of a format that only describes', () => {
    for (const format of ['password', 'int64', 'nonsense', '__proto__', 'constructor'])
      assert.ok(isOfFormat('\n', format) && formatToAutomaton(format) === undefined, format);
  });

  test('take linear time for texts that are not valid', () => {
    const texts = ['a', '@', '%', '{', '-', '.', '~', 'é', 'xn--', '"', ':', '1Y', '=', '['].map((part) =>
      part.repeat(200_000),
    );
    for (const format of Object.keys(CASES)) for (const text of texts) isOfFormat(text, format);
  });
});
