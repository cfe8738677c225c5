import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { POOL_AFFINITY_CHARS_MAX } from './limits.ts';
import type { Message, Role } from '../../core/message.ts';
import type { PromptSegment } from '../../core/prompt.ts';
import type { EngineInput } from '../engine.ts';
import { computeAffinity } from './affinity.ts';

const getAffinity = (input: EngineInput, workspace = 'w'): number =>
  computeAffinity({ owner: { workspace, key: 'k' }, input });
const createMessage = (role: Role, text: string): Message => ({ role, content: [{ type: 'text', text }] });
const createMessagesInput = (...messages: Message[]): EngineInput => ({ type: 'messages', messages });

/** Splits text into segments as a template does: `<…>` belongs to the template. */
const createSegmentsInput = (text: string): EngineInput => ({
  type: 'segments',
  segments: text
    .split(/(<[^>]*>)/)
    .filter((piece) => piece !== '')
    .map((piece): PromptSegment => ({ text: piece, special: piece.startsWith('<') })),
});

describe('computeAffinity', () => {
  const first = createMessagesInput(createMessage('system', 'Be kind.'), createMessage('user', 'Hi'));

  it('is the same for each turn of a conversation', () => {
    const second = createMessagesInput(
      createMessage('system', 'Be kind.'),
      createMessage('user', 'Hi'),
      createMessage('assistant', 'Hello'),
      createMessage('user', 'Bye'),
    );
    assert.equal(getAffinity(second), getAffinity(first));
  });

  it('depends on the workspace, the system text and the first question', () => {
    const others = [
      getAffinity(first, 'x'),
      getAffinity(createMessagesInput(createMessage('system', 'Be rude.'), createMessage('user', 'Hi'))),
      getAffinity(createMessagesInput(createMessage('user', 'Hi'))),
    ];
    assert.equal(new Set([getAffinity(first), ...others]).size, 4);
  });

  it('depends on images', () => {
    const look = (url: string): EngineInput => createMessagesInput({ role: 'user', content: [{ type: 'image', url }] });
    assert.notEqual(getAffinity(look('data:a')), getAffinity(look('data:b')));
  });

  it('ignores everything beyond its character limit', () => {
    const long = 'x'.repeat(POOL_AFFINITY_CHARS_MAX);
    assert.equal(
      getAffinity(createMessagesInput(createMessage('user', `${long}a`))),
      getAffinity(createMessagesInput(createMessage('user', `${long}b`))),
    );
    assert.equal(getAffinity(createSegmentsInput(`${long}a`)), getAffinity(createSegmentsInput(`${long}b`)));
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
      assert.equal(getAffinity(createSegmentsInput(turns[0])), getAffinity(createSegmentsInput(turns[1])));
      assert.notEqual(
        getAffinity(createSegmentsInput(turns[0])),
        getAffinity(createSegmentsInput(turns[0].replace('Hi', 'Ho'))),
      );
    });
  }
});
