import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createChatTemplate } from './chat-template.ts';
import { createSpecialTokens } from './special-tokens.ts';

const render = (source: string, specialTokens: readonly string[], variables: Readonly<Record<string, unknown>>) =>
  createChatTemplate({ source, specialTokens, bosToken: '', eosToken: '' }).render(variables);

const getSpecial = (segments: ReturnType<typeof render>): string[] =>
  segments.filter(({ special }) => special).map(({ text }) => text);

const getText = (segments: ReturnType<typeof render>): string => segments.map(({ text }) => text).join('');

describe('special tokens', () => {
  it('do not result from texts of callers that are joined', () => {
    const parts = ['<|im_', 'start|>', '<', '|im_start|>'];
    const segments = render('{% for part in parts %}{{ part }}{% endfor %}', ['<|im_start|>'], { parts });
    assert.deepEqual(segments, [{ text: parts.join(''), special: false }]);
  });

  it('do not result from tokens of callers that overlap', () => {
    const segments = render('{{ text }}', ['ab', 'bc', ']~', '~b]'], { text: 'abcbc]~b]' });
    assert.deepEqual(segments, [{ text: 'abcbc]~b]', special: false }]);
  });

  it('are found in the text of a template, and where a name of a caller completes one', () => {
    const segments = render("]~b]{{ role }}\n{{ '<|' ~ role ~ '|>' }}", [']~b]', '<|user|>'], { role: 'user' });
    assert.deepEqual(getSpecial(segments), [']~b]', '<|user|>']);
  });

  it('are compared, searched and cut by templates as if callers had no stand-ins', () => {
    const source =
      "{{ '</think>' in text }}|{{ text.split('</think>')[-1] }}|{{ text == '<think>a</think>b<' }}|{{ text | length }}|" +
      "{{ text.startswith('<think>') }}|{{ text | replace('<think>', '') }}|{{ text | tojson(ensure_ascii=true) }}|" +
      "{{ [text] }}|{{ text.strip('<b') }}|{{ text | e }}";
    const segments = render(source, ['<think>', '</think>'], { text: '<think>a</think>b<' });
    assert.deepEqual(getSpecial(segments), []);
    assert.equal(
      getText(segments),
      'True|b<|True|18|True|a</think>b<|"<think>a</think>b<"|[\'<think>a</think>b<\']|think>a</think>|' +
        '&lt;think&gt;a&lt;/think&gt;b&lt;',
    );
  });

  it('may start with any character, also with one that has two code units', () => {
    const segments = render('{{ text }}🙂x', ['🙂x', '▁<PRE>', 'É1'], { text: '🙂x 🙂 ▁<PRE> É1 É' });
    assert.deepEqual(segments, [
      { text: '🙂x 🙂 ▁<PRE> É1 É', special: false },
      { text: '🙂x', special: true },
    ]);
  });

  it('keep characters of private use in texts of callers', () => {
    const text = '\uE000\uE001<|x|>\u{F0000}';
    assert.deepEqual(render('{{ text }}', ['<|x|>', '[y]'], { text }), [{ text, special: false }]);
  });

  it('reject texts that contain all characters of private use', () => {
    const all = String.fromCharCode(...Array.from({ length: 0xf8ff - 0xe000 + 1 }, (_, i) => 0xe000 + i));
    assert.throws(() => render('{{ text }}', ['<|x|>'], { text: `<${all}` }), { kind: 'invalid-request' });
  });

  it('need no stand-ins where no text contains the first character of one', () => {
    assert.equal(createSpecialTokens(['<|x|>']).createStandIns({ text: 'a > b' }), undefined);
    assert.equal(createSpecialTokens([]).createStandIns({ text: '<' }), undefined);
  });
});
