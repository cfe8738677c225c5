import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { closingOf, createBlockEnd } from './block-end.ts';
import type { Look } from './line-pattern.ts';
import { seeText } from './seen-text.ts';

/** What there is of a text before its end is found. */
function upTo(look: Look | undefined, text: string): string {
  const seen = seeText({ text, from: 0, before: '', isLast: true });
  for (let at = 0; at < text.length; at++) if (look?.(seen, at) === 'found') return text.slice(0, at);
  return text;
}

const filled = (prefix: string, suffix: string, text: string): string => upTo(createBlockEnd({ prefix, suffix }), text);

describe('a filling that leaves its block', () => {
  test('ends there, where what comes after the gap leaves it too', () => {
    const suffix = '\n\nprint(add(1, 2))\n';
    assert.equal(filled('def add(a, b):\n    ', suffix, 'return a + b\n\nprint(add(5, 3))'), 'return a + b');
    assert.equal(
      filled('def add(a, b):\n    ', suffix, 'c = a\n    return c\n\ndef x():\n    y'),
      'c = a\n    return c',
    );
  });

  test('is told by its first line where the gap is an empty line', () => {
    const method = '        return self.items.pop()';
    assert.equal(
      filled('    def pop(self):\n', '\n    def empty(self):\n', `${method}\n\n    def peek(self):\n`),
      method,
    );
    assert.equal(
      filled('import os\n\n', '\nmain()\n', 'def f():\n    x\n\ndef g():\n    y'),
      'def f():\n    x\n\ndef g():\n    y',
    );
  });

  test('may close what the block belongs to, and no more than that', () => {
    const text = 'return 1;\n}\n\nfunction g() {\n';
    assert.equal(filled('function f() {\n  ', '\nconsole.log(f());', text), 'return 1;\n}');
    assert.equal(filled('if x:\n    ', '\nprint(y)', 'a()\nelse:\n    b()\nz()'), 'a()\nelse:\n    b()');
    assert.equal(filled('<ul>\n  <li>', '\n<p>', 'a</li>\n</ul>\n<p>'), 'a</li>\n</ul>');
  });

  test('closes nothing that is closed after the gap', () => {
    assert.equal(filled('function f() {\n', '\n}\n', '  return 1;\n}\n\nf();'), '  return 1;');
    assert.equal(filled('function f() {\n', '\n})\n', '  return 1;\n}'), '  return 1;\n}');
  });

  test('may have lines at the left that belong there', () => {
    for (const text of [
      'a();\n#ifdef DEBUG\n  b();\n#endif\n  c();',
      'again:\n  a();\nagain_and_again:\n  b();',
      'a()\n# b() comes later\n    c()',
      'a();\n// b();\n  c();',
    ])
      assert.equal(filled('  ', '\nend_of_it();\n', text), text);
    assert.equal(filled('  ', '\nmain();\n', 'a();\nagain: b();'), 'a();');
  });

  test('is not left inside a string of several lines', () => {
    const heredoc = 'cat <<EOF\nall\nof it\nEOF\n  echo';
    assert.equal(filled('if true; then\n  ', '\nls\n', `${heredoc}\nls -l`), heredoc);
    assert.equal(filled("f() {\n  cat << 'END' > x\n  ", '\nls\n', 'a\nb\nEND\nc'), 'a\nb\nEND');
    const triple = 'x = """\nall\n"""\n    y = 1';
    assert.equal(filled('def f():\n    ', '\nf()\n', `${triple}\ng()`), triple);
    assert.equal(filled('def f():\n    """Says\n    ', '\nf()\n', 'what\nit does"""\ng()'), 'what\nit does"""');
    const template = 'return `\nall\n`;';
    assert.equal(filled('function f() {\n  ', '\nf();\n', `${template}\ng();`), template);
    assert.equal(filled('void f() {\n  ', '\nf();\n', 'cout << MAX << 1;\ng();'), 'cout << MAX << 1;');
  });

  test('has none to leave at the outermost, or where nothing comes after the gap', () => {
    assert.equal(filled('a = 1\n', '\nb = 2', 'c = 3\nd = 4'), 'c = 3\nd = 4');
    assert.equal(filled('def f():\n    ', '\n', 'return 1\n\nf()'), 'return 1\n\nf()');
    assert.equal(filled('def f():\n    ', '\n    return a', 'a = 1\n    b = 2'), 'a = 1\n    b = 2');
  });
});

describe('the rest of the line of a gap and the next one', () => {
  const closed = (prefix: string, suffix: string, text: string) => upTo(closingOf({ prefix, suffix }), text);

  test('end what fills it, however short they are', () => {
    const suffix = ';\n}\n\nconsole.log(isEven(4));\n';
    assert.equal(closed('function isEven(n) {\n  return ', suffix, 'n % 2 === 0;\n}\n\nconsole'), 'n % 2 === 0');
    assert.equal(closed('f(() => {\n  g(', ');\n});', '1);\n});'), '1');
  });

  test('do not where the block goes on, or the line has no rest', () => {
    assert.equal(closed('  f(', ');\n  g();', '1);\n  g();'), '1);\n  g();');
    assert.equal(closed('  f()', '\n}', ';\n}'), ';\n}');
  });
});
