import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ChoiceEvent } from '../../core/event.ts';
import { createProgramBlockStage, type ProgramBlockStageOptions } from './program-block.ts';

type OutputType = 'text' | 'reasoning';

const createOutput = (text: string, type: OutputType = 'text'): ChoiceEvent =>
  type === 'text' ? { type, choice: 0, text, tokens: 1, phase: 0 } : { type, choice: 0, text, tokens: 1 };
const END = { type: 'choice-end', choice: 0, reason: 'stop' } as const;

interface Outcome {
  readonly text: string;
  readonly reasoning: string;
  readonly code: string | undefined;
  readonly reason: string | undefined;
  readonly tokens: number;
}

function run(events: readonly ChoiceEvent[], options: Omit<ProgramBlockStageOptions, 'createId'>): Outcome {
  const stage = createProgramBlockStage({ ...options, createId: () => 'call_1' });
  const out: ChoiceEvent[] = [];
  for (const event of events) stage.push(event, (each) => out.push(each));
  const join = (type: OutputType): string => out.map((event) => (event.type === type ? event.text : '')).join('');
  const call = out.find((event) => event.type === 'tool-arguments');
  const end = out.find((event) => event.type === 'choice-end');
  return {
    text: join('text'),
    reasoning: join('reasoning'),
    code: call && (JSON.parse(call.text) as { code: string }).code,
    reason: end?.reason,
    tokens: out.reduce((sum, event) => sum + ('tokens' in event ? event.tokens : 0), 0),
  };
}

const read = (text: string, options = { tool: 'python' as string | undefined }): Outcome =>
  run([createOutput(text), END], options.tool === undefined ? {} : { tool: options.tool });

describe('createProgramBlockStage', () => {
  it('turns a fenced Python block into a call and drops what follows', () => {
    for (const [opening, closing] of [
      ['```python\n', '```'],
      ['```py\r\n', '```'],
      ['~~~Python3 \n', '~~~'],
      ['````python\n', '````'],
    ]) {
      const { text, code, reason } = read(`So: ${opening}a = "\`\`"\nprint(a)\n${closing}\nIt prints 5.`);
      assert.deepEqual([text, code, reason], ['So: ', 'a = "``"\nprint(a)', 'tool-calls']);
    }
  });

  it('removes the indentation of a block in a list', () => {
    assert.equal(read('1. Run\n   ```python\n   if 1:\n       print(2)\n   ```').code, 'if 1:\n    print(2)');
  });

  it('takes a block that the model did not close, but not one that a limit cut', () => {
    assert.equal(read('```python\nprint(1)').code, 'print(1)');
    const cut = run([createOutput('A ```python\nprint(1)'), { ...END, reason: 'length' }], { tool: 'python' });
    assert.deepEqual([cut.text, cut.code, cut.reason], ['A ```python\nprint(1)', undefined, 'length']);
  });

  it("takes no block that the caller's stop string cut", () => {
    const cut = run([createOutput('```python\nx = 1\ny = '), { ...END, stop: '2' }], { tool: 'python' });
    assert.deepEqual([cut.text, cut.code], ['```python\nx = 1\ny = ', undefined]);
  });

  it('leaves a block in the text whose program has run, and takes the next one', () => {
    const options = { tool: 'python', ranPrograms: ['a\n'] };
    const parts = ['So:\n```python\na\n``', '`\nand\n```python\nb\n```\nmore'];
    const { text, code } = run([...parts.map((part) => createOutput(part)), END], options);
    assert.deepEqual([text, code], ['So:\n```python\na\n```\nand\n', 'b']);
  });

  it('reads each character of a long block a bounded number of times', () => {
    const line = 'x = `1`  # ``\n';
    const pieces = [...'```python\n', ...line.repeat(20_000), ...'```'];
    const { code } = run([...pieces.map((piece) => createOutput(piece)), END], { tool: 'python' });
    assert.equal(code?.length, line.length * 20_000 - 1);
  });

  it('leaves other fences and code in the text as they are', () => {
    for (const text of [
      '```\n1\n```',
      '```json\n{}\n```',
      'Use `python` here.',
      '```pythonic\nx\n```',
      'a ~~b~~ `',
      '```python',
    ])
      assert.deepEqual([read(text).text, read(text).code, read(text).reason], [text, undefined, 'stop']);
  });

  it('reads a block in a thought, and none that a thought and the answer share', () => {
    const thought = run([createOutput('Hm ```python\n1\n```\n2', 'reasoning'), createOutput('3'), END], {
      tool: 'python',
    });
    assert.deepEqual([thought.reasoning, thought.text, thought.code], ['Hm ', '', '1']);
    const split = run([createOutput('```python\n1', 'reasoning'), createOutput('2\n```'), END], { tool: 'python' });
    assert.deepEqual([split.reasoning, split.text, split.code], ['```python\n1', '2\n```', undefined]);
  });

  it('continues a block that the prompt opened', () => {
    const options = { tool: 'python', opened: '```python\n' };
    assert.equal(run([createOutput('1+'), createOutput('1\n`'), createOutput('``\n2'), END], options).code, '1+1');
  });

  it('ends the answer with the block, as text, when no tool may be called', () => {
    const { text, code, reason } = read('A\n```python\n1\n```\nIt is 2.', { tool: undefined });
    assert.deepEqual([text, code, reason], ['A\n```python\n1\n```', undefined, 'stop']);
  });

  it('finds the same block however the answer is split, and counts every token up to it', () => {
    const parts = fc.array(
      fc.constantFrom('```', '`', '~~~', 'python', 'py', '\n', ' ', 'x', 'print(1)', '```python\n'),
      { maxLength: 14 },
    );
    fc.assert(
      fc.property(parts, (pieces) => {
        const whole = read(pieces.join(''));
        const split = run([...[...pieces.join('')].map((character) => createOutput(character)), END], {
          tool: 'python',
        });
        assert.deepEqual([split.text, split.code, split.reason], [whole.text, whole.code, whole.reason]);
        if (split.code === undefined && split.reason === 'stop' && split.text === pieces.join(''))
          assert.equal(split.tokens, pieces.join('').length);
      }),
    );
  });
});
