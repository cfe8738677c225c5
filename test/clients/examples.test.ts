import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { getCapabilitySkipReason } from '../capabilities.ts';
import { getModelSkipReason } from '../models-folder.ts';
import { type Parley, startParley } from './harness.ts';
import { createJavaSourceProgram } from './java.ts';
import { shareParley, type Program } from './program-cases.ts';
import { findPython } from './python.ts';

const FOLDER = fileURLToPath(new URL('../../examples/', import.meta.url));

const pathTo = (name: string): string => join(FOLDER, name);

function pythonExample(client: string, name: string, ...args: string[]): Program {
  const { path, env, skipReason } = findPython(client);
  return { command: path, args: [pathTo(name), ...args], env, skipReason };
}

const nodeExample = (name: string): Program => ({ command: process.execPath, args: [pathTo(name)] });

/** The program that `.ci/run` builds from the Go example, beside copies of the files from which it was built. */
function goExample(name: string): Program {
  const folder = fileURLToPath(new URL('../../.cache/go-example/', import.meta.url));
  const isCurrent = ['main.go', 'go.mod', 'go.sum'].every(
    (file) =>
      existsSync(join(folder, file)) && readFileSync(join(folder, file)).equals(readFileSync(join(pathTo(name), file))),
  );
  const skipReason = isCurrent ? undefined : 'no current .cache/go-example/chat (.ci/run builds it)';
  return { command: join(folder, 'chat'), args: [], skipReason };
}

function llamaIndexExample(name: string): Program {
  const { path, env, skipReason } = findPython('llama-index-llms-openai-like', 'llama-index');
  return { command: path, args: [pathTo(name)], env, skipReason };
}

/** The program that runs each example. */
const EXAMPLES: Readonly<Record<string, Program>> = {
  'chat.sh': { command: 'sh', args: [pathTo('chat.sh')] },
  'openai_chat.py': pythonExample('openai', 'openai_chat.py'),
  'openai-responses.mjs': nodeExample('openai-responses.mjs'),
  'anthropic_messages.py': pythonExample('anthropic', 'anthropic_messages.py'),
  'anthropic-messages.mjs': nodeExample('anthropic-messages.mjs'),
  'dashscope_generation.py': pythonExample('dashscope', 'dashscope_generation.py'),
  'DashScopeGeneration.java': createJavaSourceProgram(pathTo('DashScopeGeneration.java')),
  'ai-sdk-chat.mjs': nodeExample('ai-sdk-chat.mjs'),
  'langchain_chat.py': pythonExample('langchain-openai', 'langchain_chat.py'),
  'llama_index_chat.py': llamaIndexExample('llama_index_chat.py'),
  go: goExample('go'),
};

const COMPLETION = 'editor-completion.sh';

const RECOGNITION = 'dashscope_recognition.py';

/** Runs an example against a Parley. @returns what it wrote to standard output. Fails unless it exits with 0. */
async function run({ command, args, env }: Program, { address, key }: Parley): Promise<string> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env, PARLEY_URL: address, PARLEY_KEY: key, NO_PROXY: '127.0.0.1' },
  });
  const [output, complaint, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  assert.equal(code, 0, `${output}\n${complaint}`);
  return output;
}

describe('the examples', { skip: getModelSkipReason('svc-plus') }, () => {
  let parley: Parley;
  before(async () => {
    parley = await startParley({ withTinyModel: true });
  });
  after(() => parley.stop());

  for (const [name, program] of Object.entries(EXAMPLES)) {
    test(`${name} prints an answer`, { skip: program.skipReason ?? false }, async () => {
      assert.match(await run(program, parley), /\p{L}/u);
    });
  }

  test('each have a test', () => {
    const files = readdirSync(FOLDER).filter((name) => name !== 'README.md');
    assert.deepEqual(files.toSorted(), [...Object.keys(EXAMPLES), COMPLETION, RECOGNITION].toSorted());
  });
});

const startScripted = shareParley(() => startParley({ engine: 'scripted' }));

test(`the example ${COMPLETION} prints a completion`, async () => {
  const program = { command: 'sh', args: [pathTo(COMPLETION)] };
  const output = await run(program, await startScripted());
  const completion: { object: string; choices: { text: string }[] } = JSON.parse(output);
  assert.equal(completion.object, 'text_completion');
  assert.match(completion.choices[0]?.text ?? '', /def add/);
});

test(
  `the example ${RECOGNITION} prints each sentence of a WAV file`,
  {
    skip: pythonExample('dashscope', RECOGNITION).skipReason ?? getCapabilitySkipReason('recognition'),
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-example-'));
    try {
      const audio = join(folder, 'levels.wav');
      // The scripted recognizer names a word after each level that lasts: 0.2 is `w20`. A level from 0.5 on ends a
      // sentence.
      await writeFile(
        audio,
        wavOfLevels([
          [500, 0],
          [1000, 0.2],
          [300, 0.6],
          [1500, 0],
          [700, 0.21],
          [1500, 0],
        ]),
      );
      const output = await run(pythonExample('dashscope', RECOGNITION, audio), await startScripted());
      assert.equal(output.trim(), 'w20 w60.\nw21');
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

/**
 * A mono 16-bit WAV file with 16,000 samples per second.
 * @param levels Duration in ms and sample value from −1 to 1.
 */
function wavOfLevels(levels: readonly (readonly [durationMs: number, level: number])[]): Buffer {
  const samples = Int16Array.from(
    levels.flatMap(([durationMs, level]) => Array.from({ length: durationMs * 16 }, () => Math.round(level * 32_767))),
  );
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.byteLength, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(16_000, 24);
  header.writeUInt32LE(32_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([header, Buffer.from(samples.buffer)]);
}
