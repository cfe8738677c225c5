import { PROGRAM_TOLD_CHARS_MAX } from '../../core/limits.ts';
import type { Tool } from '../../core/message.ts';
import type { ToolUse } from '../../core/request.ts';
import type { CodeOutput, ServerCallResult } from '../../core/server-tools.ts';
import { asData, asOutput } from './as-data.ts';
import { parseLoosely } from './ask-form.ts';
import { cutMiddle } from './conversation-digest.ts';

/** What the model calls to run a program; a caller's tool of that name keeps it. */
export function codeTool(callers: readonly Tool[]): Tool {
  const names = new Set(callers.map(({ name }) => name));
  let name = 'code_interpreter';
  for (let number = 2; names.has(name); number++) name = `code_interpreter_${number}`;
  return {
    name,
    description:
      'Runs Python code and returns what it prints and the value of its last expression. Use it to compute, count or check something.',
    parameters: {
      type: 'object',
      properties: { code: { type: 'string', description: 'Python code' } },
      required: ['code'],
      additionalProperties: false,
    },
    field: 'tools',
  };
}

/** The caller's tools with ours. A call that the caller demands is one of the caller's own: ours is no answer to that. */
export function withCodeTool(toolUse: ToolUse | undefined, tool: Tool): ToolUse | undefined {
  if (!toolUse) return { tools: [tool], choice: 'auto', isParallel: false, streamsComplex: false };
  return toolUse.choice === 'auto' ? { ...toolUse, tools: [...toolUse.tools, tool] } : undefined;
}

/** The program in a call's arguments; undefined where there is none. Without a grammar some models write it bare. */
export function programOf(argumentsText: string): string | undefined {
  const value = parseLoosely(argumentsText);
  if (typeof value === 'object' && value !== null) {
    const texts = Object.values(value).filter((each) => typeof each === 'string');
    const { code } = { code: undefined, ...value } as Record<string, unknown>;
    const program = typeof code === 'string' ? code : texts.length === 1 ? texts[0] : undefined;
    return program?.trim() ? withoutFence(program) : undefined;
  }
  const text = argumentsText.trim();
  return text === '' || text.startsWith('{') ? undefined : withoutFence(text);
}

const withoutFence = (text: string): string => /^\s*```\w*\n(.*?)\n?```\s*$/s.exec(text)?.[1] ?? text;

/** What the model is told of a program that ran, or did not. */
export function toldResult(result: ServerCallResult & { readonly type: 'code' }, charactersMax: number): string {
  const { output, failure } = result;
  if (failure) return `The program was not run: ${asData(failure.message)}`;
  if (!output) return NO_OUTPUT;
  const told = linesOf(output).join('\n');
  return told === '' ? NO_OUTPUT : cutMiddle(told, charactersMax);
}

const NO_OUTPUT = '(The program ended and printed nothing.)';

/** What a program prints may come from anywhere. */
function linesOf({ stdout, stderr, value, error, files, isCut }: CodeOutput): string[] {
  const said = (text: string): string => asOutput(cutMiddle(text, PROGRAM_TOLD_CHARS_MAX)).trimEnd();
  return [
    said(stdout),
    ...(value === undefined ? [] : [said(value)]),
    ...(stderr.trim() === '' ? [] : [`stderr: ${said(stderr)}`]),
    ...(error ? [`error: ${said(error.message)}`] : []),
    ...(files.length === 0 ? [] : [`files written: ${files.map(({ name }) => said(name)).join(', ')}`]),
    ...(isCut ? ['(some of it was left out)'] : []),
  ].filter((line) => line !== '');
}
