import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineRequest } from '../engine.ts';
import { promptScript } from './prompt-script.ts';

function play(...users: readonly string[]): string {
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
  return promptScript(request)
    .flatMap((step) => (step.type === 'tokens' ? step.tokens : [`(${step.type})`]))
    .join('');
}

test('the last message is the script, whole or in a line of its own, wherever that stands', () => {
  for (const text of [
    'script:["a","b"]',
    'script:[\n"a",\n"b"\n]',
    'Hear:\nscript:["a","b"]',
    'script:["a","b"]\n\nAnd so on.',
  ])
    assert.equal(play('script:["x"]', text), 'ab');
  assert.equal(play('script:["x"]', 'Hello'), 'You said: Hello');
  assert.equal(play('script:no list'), 'You said: script:no list');
});

test('parts of a script are for the runs whose prompts have their words, beside the script itself', () => {
  const script =
    'script:[{"when":"gave: 42","say":["It is ","42."]},{"when":"gave","say":["What?"]},"Com",{"delayMs":1},"pute"]';
  assert.equal(play(script), 'Com(delay)pute');
  assert.equal(play('Once it gave: 42.', script), 'It is 42.');
  assert.equal(play(`${script}\n\nprogram gave: 7`), 'What?');
});
