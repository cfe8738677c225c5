import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createMultilineStringTracker } from './multiline-string-tracker.ts';

function isOpenBehind(text: string): boolean {
  const open = createMultilineStringTracker();
  for (const character of text) open.push(character);
  return open.isInside();
}

describe('createMultilineStringTracker', () => {
  for (const text of [
    'x = """a',
    "x = '''a",
    'x = `a\n`b`',
    'x = `a\\`',
    'cat <<EOF',
    'cat <<EOF > x\na\n',
    "cat <<- 'end'\n\tEN",
    'x = <<~SQL\n  a',
    'echo <<<HTML\na',
  ])
    test(`is inside a string after ${JSON.stringify(text)}`, () => assert.equal(isOpenBehind(text), true));

  for (const text of [
    '',
    '"" "',
    'x = """a"""',
    'x = `a`',
    '```\na\n```',
    'cat <<EOF\na\nEOF',
    'cat <<-EOF\n\ta\n\tEOF\nb',
    '1 << n;',
    'cout << MAX << endl;',
    'cout << value',
  ])
    test(`is not inside a string after ${JSON.stringify(text)}`, () => assert.equal(isOpenBehind(text), false));
});
