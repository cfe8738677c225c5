import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClosingDetector, createBlockEndDetector } from './block-end.ts';
import type { EndDetector } from './line-pattern.ts';
import { createTextWindow } from './text-window.ts';

/** Returns the text before the detected end. */
function cutAtEnd(look: EndDetector | undefined, text: string): string {
  const window = createTextWindow({ text, start: 0, previousCharacter: '', isComplete: true });
  for (let at = 0; at < text.length; at++) if (look?.(window, at) === 'found') return text.slice(0, at);
  return text;
}

const fillAndCut = (prefix: string, suffix: string, text: string): string =>
  cutAtEnd(createBlockEndDetector({ prefix, suffix }), text);

describe('createBlockEndDetector', () => {
  test('ends a filling where it leaves the block, if the text after the gap leaves it too', () => {
    const suffix = '\n\nprint(add(1, 2))\n';
    assert.equal(fillAndCut('def add(a, b):\n    ', suffix, 'return a + b\n\nprint(add(5, 3))'), 'return a + b');
    assert.equal(
      fillAndCut('def add(a, b):\n    ', suffix, 'c = a\n    return c\n\ndef x():\n    y'),
      'c = a\n    return c',
    );
  });

  test("takes the indentation from the filling's first line when the gap is an empty line", () => {
    const method = '        return self.items.pop()';
    assert.equal(
      fillAndCut('    def pop(self):\n', '\n    def empty(self):\n', `${method}\n\n    def peek(self):\n`),
      method,
    );
    assert.equal(
      fillAndCut('import os\n\n', '\nmain()\n', 'def f():\n    x\n\ndef g():\n    y'),
      'def f():\n    x\n\ndef g():\n    y',
    );
  });

  test('allows lines that close statements of the block', () => {
    const text = 'return 1;\n}\n\nfunction g() {\n';
    assert.equal(fillAndCut('function f() {\n  ', '\nconsole.log(f());', text), 'return 1;\n}');
    assert.equal(fillAndCut('if x:\n    ', '\nprint(y)', 'a()\nelse:\n    b()\nz()'), 'a()\nelse:\n    b()');
    assert.equal(fillAndCut('<ul>\n  <li>', '\n<p>', 'a</li>\n</ul>\n<p>'), 'a</li>\n</ul>');
  });

  test('ends before a closing line that the text after the gap repeats', () => {
    assert.equal(fillAndCut('function f() {\n', '\n}\n', '  return 1;\n}\n\nf();'), '  return 1;');
    assert.equal(fillAndCut('function f() {\n', '\n})\n', '  return 1;\n}'), '  return 1;\n}');
  });

  test('allows unindented labels, comments and preprocessor lines', () => {
    for (const text of [
      'a();\n#ifdef DEBUG\n  b();\n#endif\n  c();',
      'again:\n  a();\nagain_and_again:\n  b();',
      'a()\n# b() comes later\n    c()',
      'a();\n// b();\n  c();',
    ])
      assert.equal(fillAndCut('  ', '\nend_of_it();\n', text), text);
    assert.equal(fillAndCut('  ', '\nmain();\n', 'a();\nagain: b();'), 'a();');
  });

  test('ignores lines inside a multiline string', () => {
    const heredoc = 'cat <<EOF\nall\nof it\nEOF\n  echo';
    assert.equal(fillAndCut('if true; then\n  ', '\nls\n', `${heredoc}\nls -l`), heredoc);
    assert.equal(fillAndCut("f() {\n  cat << 'END' > x\n  ", '\nls\n', 'a\nb\nEND\nc'), 'a\nb\nEND');
    const triple = 'x = """\nall\n"""\n    y = 1';
    assert.equal(fillAndCut('def f():\n    ', '\nf()\n', `${triple}\ng()`), triple);
    assert.equal(fillAndCut('def f():\n    """Says\n    ', '\nf()\n', 'what\nit does"""\ng()'), 'what\nit does"""');
    const template = 'return `\nall\n`;';
    assert.equal(fillAndCut('function f() {\n  ', '\nf();\n', `${template}\ng();`), template);
    assert.equal(fillAndCut('void f() {\n  ', '\nf();\n', 'cout << MAX << 1;\ng();'), 'cout << MAX << 1;');
  });

  test('finds no end at the outermost level or when no line follows the gap', () => {
    assert.equal(fillAndCut('a = 1\n', '\nb = 2', 'c = 3\nd = 4'), 'c = 3\nd = 4');
    assert.equal(fillAndCut('def f():\n    ', '\n', 'return 1\n\nf()'), 'return 1\n\nf()');
    assert.equal(fillAndCut('def f():\n    ', '\n    return a', 'a = 1\n    b = 2'), 'a = 1\n    b = 2');
  });
});

describe('createClosingDetector', () => {
  const closed = (prefix: string, suffix: string, text: string) =>
    cutAtEnd(createClosingDetector({ prefix, suffix }), text);

  test("ends a filling at the rest of the gap's line with the next line, however short they are", () => {
    const suffix = ';\n}\n\nconsole.log(isEven(4));\n';
    assert.equal(closed('function isEven(n) {\n  return ', suffix, 'n % 2 === 0;\n}\n\nconsole'), 'n % 2 === 0');
    assert.equal(closed('f(() => {\n  g(', ');\n});', '1);\n});'), '1');
  });

  test('finds no end when the block continues or the line has no rest', () => {
    assert.equal(closed('  f(', ');\n  g();', '1);\n  g();'), '1);\n  g();');
    assert.equal(closed('  f()', '\n}', ';\n}'), ';\n}');
  });
});
