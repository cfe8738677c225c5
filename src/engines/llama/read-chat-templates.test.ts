import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readChatTemplates } from './read-chat-templates.ts';

test('reads the only template of a file, the named ones beside it, and named ones alone', () => {
  const [chatTemplate, toolTemplate] = ['chat', 'tools'];
  assert.deepEqual(readChatTemplates({ chat_template: chatTemplate }), { chatTemplate });
  const beside = { chat_template: chatTemplate, 'chat_template.tool_use': toolTemplate, 'chat_template.rag': 'x' };
  assert.deepEqual(readChatTemplates(beside), { chatTemplate, toolTemplate });
  const alone = { chat_template: { default: chatTemplate, tool_use: toolTemplate } };
  assert.deepEqual(readChatTemplates(alone), { chatTemplate, toolTemplate });
});

test('reads no template where there is none', () => {
  assert.deepEqual(readChatTemplates(undefined), {});
  assert.deepEqual(readChatTemplates({ chat_template: '', 'chat_template.tool_use': 5 }), {});
});
