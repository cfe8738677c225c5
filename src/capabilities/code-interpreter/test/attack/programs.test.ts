import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { encodeScript, encodeToolCall } from '../../../../../test/clients/engine-script.ts';
import { sendAsAttacker } from '../../../../../test/attack/attacker-request.ts';
import { type AttackTarget, describeAttacks } from '../../../../../test/attack/harness.ts';
import { until } from '../../../../../test/until.ts';

// Programs that take what they can, in the sandbox. What they could reach is tested in test/process.

const hasNamespaces =
  spawnSync('unshare', ['--user', '--map-root-user', '--pid', '--fork', '--net', 'true']).status === 0;

const PROGRAMS = [
  'while True: pass',
  'blocks = []\nwhile True: blocks.append(bytearray(16 << 20))',
  'while True: print("x" * 1_000_000)',
  'import os\nwhile True: os.fork()',
  'i = 0\nwhile True:\n  i += 1\n  open(f"file-{i}", "wb").write(b"x" * 10_000_000)',
];

/** Lets the model run a program, and returns the status and the events of the answer. */
const runProgram = (target: AttackTarget, code: string, key?: string) => {
  const steps = [
    { when: 'This program was run', say: ['</think>', 'It ended.'] },
    { when: 'You can call functions', say: ['</think>', encodeToolCall('code_interpreter', { code })] },
  ];
  const parameters = {
    result_format: 'message',
    enable_code_interpreter: true,
    enable_thinking: true,
    incremental_output: true,
  };
  return sendAsAttacker(target, {
    ...(key !== undefined && { key }),
    path: '/api/v1/services/aigc/text-generation/generation',
    headers: { 'x-dashscope-sse': 'enable' },
    body: JSON.stringify({
      model: 'svc-plus',
      input: { messages: [{ role: 'user', content: encodeScript(...steps) }] },
      parameters,
    }),
  });
};

const OPTIONS = {
  withCodeInterpreter: true,
  env: {
    PARLEY_CODE_INTERPRETER_LEVEL: hasNamespaces ? 'strict' : 'basic',
    PARLEY_CODE_INTERPRETER_WARM: '0',
    PARLEY_CODE_INTERPRETER_SECONDS: '2',
    PARLEY_CODE_INTERPRETER_MEMORY_MB: '160',
    PARLEY_CODE_INTERPRETER_CONTAINERS_MAX: '4',
  },
};

/** Waits until the sandbox is verified, which takes some seconds after the start. */
const waitUntilVerified = ({ address }: AttackTarget): Promise<true> =>
  until('the sandbox is verified', { timeoutMs: 90_000 }, async () => {
    const report = (await (await fetch(`${address}/ready`)).json()) as { tools: { tool: string; state: string }[] };
    const interpreter = report.tools.find(({ tool }) => tool === 'code interpreter');
    return interpreter?.state === 'on' ? true : undefined;
  });

describeAttacks('attacks with programs', OPTIONS, [
  {
    name: '5 programs without end, which take time, memory, output, processes or files, two at a time',
    async run(target) {
      await waitUntilVerified(target);
      const rest = [...PROGRAMS];
      const attack = async (): Promise<void> => {
        for (let code = rest.shift(); code !== undefined; code = rest.shift()) {
          const { status, text } = await runProgram(target, code);
          assert.equal(status, 200, text);
          assert.match(text, /"finish_reason":"stop"/, `${code}: ${text.slice(-600)}`);
        }
      };
      await Promise.all([attack(), attack()]);
    },
  },
  {
    name: '6 programs without end at once, of which 2 have containers, beside a program of another workspace',
    async run(target) {
      await waitUntilVerified(target);
      const otherKey = await target.createKey('--workspace', 'programmer');
      const attacks = Array.from({ length: 6 }, () => runProgram(target, 'while True: pass'));
      const other = await runProgram(target, 'print(6 * 7)', otherKey);
      assert.equal(other.status, 200, other.text);
      assert.match(other.text, /It ended\./);
      assert.match(other.text, /"code_interpreter":\{"count":1\}/);
      const statuses = (await Promise.all(attacks)).map(({ status }) => status);
      assert.deepEqual(
        statuses.toSorted((a, b) => a - b),
        [200, 200, 503, 503, 503, 503],
      );
    },
  },
]);
