import fc from 'fast-check';
import { unicodeCharacter } from '../../../../test/unicode-character.ts';

/** Parts of generated texts: words of several scripts, marks, spaces, code and placeholders. */
const PIECES: readonly string[] = [
  'The park',
  ' is open. ',
  'Wo ist das? ',
  '猫在睡觉。',
  '公园',
  'ไทย ',
  'שלום ',
  ' ',
  '  ',
  '\t',
  '\n',
  '\r\n',
  '\n\n',
  '- ',
  '1. ',
  '# ',
  '> ',
  '```',
  '\n```js\nlet a = "B. C";\n```\n',
  '~~~\n',
  '`a. b`',
  '`',
  '{name}',
  '{{ user.name }}',
  '${x}',
  '%s',
  '%1$d',
  '%(count)d',
  '100%',
  '<b>',
  '</b>',
  '<img src="a.png" alt="x">',
  '<',
  '&amp;',
  'https://example.com/a?b=c.d&e=f',
  'www.example.com',
  'me@example.com',
  '[1]',
  '[12]',
  '(x)',
  '.',
  '!',
  '…',
  ', ',
  '3.14',
  'e\u0301',
];

export const mixedText = fc
  .array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, { weight: 1, arbitrary: fc.string({ unit: unicodeCharacter }) }), {
    maxLength: 24,
  })
  .map((pieces) => pieces.join(''));
