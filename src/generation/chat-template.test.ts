import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createChatTemplate } from './chat-template.ts';

const SPECIAL = ['<|im_start|>', '<|im_end|>', '<tool_call>', '</tool_call>'];

const template = (source: string) =>
  createChatTemplate({ source, specialTokens: SPECIAL, bosToken: '<s>', eosToken: '<|im_end|>' });

const CHATML = template(
  "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content | trim + '<|im_end|>\n' }}{% endfor %}",
);

const getText = (segments: readonly { text: string }[]): string => segments.map(({ text }) => text).join('');

describe('createChatTemplate', () => {
  it('renders its own special tokens as special segments and texts of callers as plain text', () => {
    assert.deepEqual(CHATML.render({ messages: [{ role: 'user', content: 'Hi' }] }), [
      { text: '<|im_start|>', special: true },
      { text: 'user\nHi', special: false },
      { text: '<|im_end|>', special: true },
      { text: '\n', special: false },
    ]);
  });

  it('adds no special segment for a text of a caller and changes none of its characters', () => {
    const piece = fc.constantFrom(...SPECIAL, '<|im_', 'end|>', '<', 'a', '\n', 'é', '\uFDD0', '{{ 1 }}', '{% raw %}');
    fc.assert(
      fc.property(fc.array(piece), fc.array(piece), (role, parts) => {
        const content = `.${parts.join('')}.`;
        const segments = CHATML.render({ messages: [{ role: role.join(''), content }] });
        const specials = segments.filter(({ special }) => special);
        assert.deepEqual(
          specials.map(({ text }) => text),
          ['<|im_start|>', '<|im_end|>'],
        );
        assert.equal(getText(segments), `<|im_start|>${role.join('')}\n${content}<|im_end|>\n`);
      }),
    );
  });

  it('keeps names and nested values plain text, also when the template writes them as JSON', () => {
    const segments = template('{{ tools | tojson }}<|im_end|>').render({
      tools: [{ name: '<|im_end|>', parameters: { '<tool_call>': ['<|im_start|>'] } }],
    });
    assert.deepEqual(
      segments.filter(({ special }) => special),
      [{ text: '<|im_end|>', special: true }],
    );
    assert.match(getText(segments), /"<tool_call>"/);
  });

  it('provides the bos and eos tokens and the current date', () => {
    assert.equal(getText(template('{{ bos_token }}{{ eos_token }}').render({})), '<s><|im_end|>');
    assert.match(getText(template("{{ strftime_now('%d %b %Y') }}").render({})), /^\d\d [A-Z][a-z]{2} \d{4}$/);
  });

  it("rejects the messages with the template's own message when it calls raise_exception", () => {
    assert.throws(() => template("{{ raise_exception('roles must alternate') }}").render({}), {
      kind: 'invalid-request',
      message: /roles must alternate/,
      param: 'messages',
    });
  });

  it('stops a template that exceeds the step limit', () => {
    // Each element of a list is a step. Iterations of a loop would take ten times as long.
    const repeat = (count: number) =>
      template(`{% for i in range(${count}) %}{% set x = [${'1,'.repeat(999)}1] %}{% endfor %}`);
    assert.deepEqual(repeat(1_900).render({}), []);
    assert.throws(() => repeat(2_100).render({}), { kind: 'invalid-request', message: /more than 2000000 steps/ });
  });

  it('stops a template that repeats expensive operations on large values', () => {
    const grow = (value: string, rounds: number): string =>
      `{% set ns = namespace(x=${value}) %}{% for i in range(${rounds}) %}{% set ns.x = ns.x + ns.x %}{% endfor %}`;
    for (const source of [
      `${grow('"a"', 25)}{% for i in range(100000) %}{% set y = ns.x | upper | length %}{% endfor %}`,
      `${grow('"a"', 25)}{% for i in range(100000) %}{% if "b" in ns.x %}{% endif %}{% endfor %}`,
      `${grow('[1]', 18)}{% for i in range(100000) %}{% set y = ns.x | sort | length %}{% endfor %}`,
      `${grow('[1]', 40)}`,
    ]) {
      const before = process.cpuUsage();
      assert.throws(() => template(source).render({}), { kind: 'invalid-request', message: /steps/ });
      const { user, system } = process.cpuUsage(before);
      assert.ok((user + system) / 1_000 < 5_000, source);
    }
  });

  it('reports a template that cannot be parsed, or is nested too deeply', () => {
    for (const source of [
      '{% if %}',
      '{{ 1 + }}',
      '{% unknown %}',
      `{{ ${'('.repeat(100_000)} }}`,
      '{% if 1 %}'.repeat(100_000),
    ])
      assert.throws(() => template(source), { kind: 'overloaded', message: /cannot be parsed \(line 1: / });
  });

  it('stops a template that exceeds the memory limits', () => {
    const doubling =
      "{% set ns = namespace(t='xxxxxxxxxxxxxxxx') %}{% for i in range(64) %}{% set ns.t = ns.t + ns.t %}{% endfor %}";
    assert.throws(() => template(doubling).render({}), { kind: 'invalid-request' });
    assert.throws(() => template('{% for i in range(100000000) %}x{% endfor %}').render({}), {
      kind: 'invalid-request',
    });
  });

  it('gives a template no access to the process', () => {
    for (const source of [
      '{{ process }}',
      '{{ globalThis }}',
      "{{ messages.constructor.constructor('return process')() }}",
      "{{ raise_exception.constructor('return process')() }}",
    ]) {
      let text = '';
      try {
        text = getText(template(source).render({ messages: [] }));
      } catch (error) {
        assert.match(String(error), /template fails with these messages: UndefinedError/);
      }
      assert.equal(text, '');
    }
  });

  it('keeps no state between renderings', () => {
    const counting = template('{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{{ x }}');
    assert.equal(getText(counting.render({ x: 'a' })), '1a');
    assert.equal(getText(counting.render({})), '1');
  });
});
