import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createOpenText } from './open-text.ts';

function isOpenBehind(text: string): boolean {
  const open = createOpenText();
  for (const character of text) open.take(character);
  return open.isOpen();
}

describe('a string of several lines', () => {
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
    test(`is open behind ${JSON.stringify(text)}`, () => assert.equal(isOpenBehind(text), true));

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
    test(`is not open behind ${JSON.stringify(text)}`, () => assert.equal(isOpenBehind(text), false));
});
