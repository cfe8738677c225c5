import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { POOL_AFFINITY_CHARACTERS_MAX } from '../../core/limits.ts';
import type { Message, Role } from '../../core/message.ts';
import type { PromptSegment } from '../../core/prompt.ts';
import type { EngineInput } from '../engine.ts';
import { affinityOf } from './affinity.ts';

const of = (input: EngineInput, workspace = 'w'): number => affinityOf({ owner: { workspace, key: 'k' }, input });
const say = (role: Role, text: string): Message => ({ role, content: [{ type: 'text', text }] });
const talk = (...messages: Message[]): EngineInput => ({ type: 'messages', messages });

/** Segments as a template leaves them: `<…>` is the template's own. */
const prompt = (text: string): EngineInput => ({
  type: 'segments',
  segments: text
    .split(/(<[^>]*>)/)
    .filter((piece) => piece !== '')
    .map((piece): PromptSegment => ({ text: piece, special: piece.startsWith('<') })),
});

describe('the affinity of a request', () => {
  const first = talk(say('system', 'Be kind.'), say('user', 'Hi'));

  it('is the same for each turn of a conversation', () => {
    const second = talk(say('system', 'Be kind.'), say('user', 'Hi'), say('assistant', 'Hello'), say('user', 'Bye'));
    assert.equal(of(second), of(first));
  });

  it('differs with the workspace, the system text and the first question', () => {
    const others = [
      of(first, 'x'),
      of(talk(say('system', 'Be rude.'), say('user', 'Hi'))),
      of(talk(say('user', 'Hi'))),
    ];
    assert.equal(new Set([of(first), ...others]).size, 4);
  });

  it('sees images', () => {
    const look = (url: string): EngineInput => talk({ role: 'user', content: [{ type: 'image', url }] });
    assert.notEqual(of(look('data:a')), of(look('data:b')));
  });

  it('does not see what is behind its limit', () => {
    const long = 'x'.repeat(POOL_AFFINITY_CHARACTERS_MAX);
    assert.equal(of(talk(say('user', `${long}a`))), of(talk(say('user', `${long}b`))));
    assert.equal(of(prompt(`${long}a`)), of(prompt(`${long}b`)));
  });

  const templates: readonly { name: string; turns: readonly [string, string] }[] = [
    {
      name: 'ChatML',
      turns: [
        '<im_start>user\nHi<im_end>\n<im_start>assistant\n',
        '<im_start>user\nHi<im_end>\n<im_start>assistant\nHello<im_end>\n<im_start>user\nBye<im_end>\n<im_start>assistant\n',
      ],
    },
    {
      name: 'header names',
      turns: [
        '<bos><header>user<end>\n\nHi<eot><header>assistant<end>\n\n',
        '<bos><header>user<end>\n\nHi<eot><header>assistant<end>\n\nHello<eot><header>user<end>\n\nBye<eot><header>assistant<end>\n\n',
      ],
    },
    { name: 'names as tokens', turns: ['<User>Hi<Assistant>', '<User>Hi<Assistant>Hello<User>Bye<Assistant>'] },
    { name: 'instructions', turns: ['<INST>Hi</INST>', '<INST>Hi</INST>Hello<INST>Bye</INST>'] },
    {
      name: 'turns of a model',
      turns: ['<turn>user\nHi<end><turn>model\n', '<turn>user\nHi<end><turn>model\nHello<end>'],
    },
  ];
  for (const { name, turns } of templates) {
    it(`is the same for each turn of a rendered prompt: ${name}`, () => {
      assert.equal(of(prompt(turns[0])), of(prompt(turns[1])));
      assert.notEqual(of(prompt(turns[0])), of(prompt(turns[0].replace('Hi', 'Ho'))));
    });
  }
});
