import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMarkup } from './is-markup.ts';

const MARKS = [
  '<tool_call>',
  '</think>',
  '<seed:tool_call>',
  '<|im_start|>',
  '<|tool_call>',
  '<tool_call|>',
  '<|"|>',
  ']~b]',
  '[e~[',
  ']~!b[',
  ']<]minimax[>[',
  '>>PREFIX<<',
  '<[fim-prefix]>',
  '<｜fim▁begin｜>',
  '｜DSML｜',
  '[TOOL_CALLS]',
  '[gMASK]',
  '▁<PRE>',
  '</s>',
];

const TEXTS = [
  '\n\n',
  '\t\t\t',
  '        ',
  '▁▁▁▁',
  ' "',
  '÷',
  'Á',
  '---',
  '[...]',
  '<?>',
  '[][]',
  'PI:EMAIL',
  "n't",
  'U.S.',
  '7',
  '的',
  '🙂',
  '<table>',
  '</h1>',
  '( a )',
];

for (const text of MARKS) test(`${JSON.stringify(text)} is a mark`, () => assert.equal(isMarkup(text), true));
for (const text of TEXTS) test(`${JSON.stringify(text)} is text`, () => assert.equal(isMarkup(text), false));
