import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineRequest } from '../engine.ts';
import { parsePromptScript } from './parse-prompt-script.ts';

function playPrompt(...users: readonly string[]): string {
  const text = users.map((user) => `<|im_start|>user\n${user}<|im_end|>\n`).join('');
  const request: EngineRequest = {
    id: 'r',
    owner: { workspace: 'w', key: 'k' },
    input: { type: 'segments', segments: [{ text: `${text}<|im_start|>assistant\n`, special: false }] },
    sampling: {},
    stop: { strings: [], tokens: [] },
    choices: 1,
    phases: [],
  };
  return parsePromptScript(request)
    .flatMap((step) => (step.type === 'tokens' ? step.tokens : [`(${step.type})`]))
    .join('');
}

test('takes the last message, or a line of it, as the script', () => {
  for (const text of [
    'script:["a","b"]',
    'script:[\n"a",\n"b"\n]',
    'Hear:\nscript:["a","b"]',
    'script:["a","b"]\n\nAnd so on.',
  ])
    assert.equal(playPrompt('script:["x"]', text), 'ab');
  assert.equal(playPrompt('script:["x"]', 'Hello'), 'You said: Hello');
  assert.equal(playPrompt('script:no list'), 'You said: script:no list');
});

test('plays the part whose words occur in the prompt outside the script', () => {
  const script =
    'script:[{"when":"gave: 42","say":["It is ","42."]},{"when":"gave","say":["What?"]},"Com",{"delayMs":1},"pute"]';
  assert.equal(playPrompt(script), 'Com(delay)pute');
  assert.equal(playPrompt('Once it gave: 42.', script), 'It is 42.');
  assert.equal(playPrompt(`${script}\n\nprogram gave: 7`), 'What?');
});
