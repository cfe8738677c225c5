import { PROMPT_PROGRAM_OUTPUT_CHARS_MAX } from './limits.ts';
import type { Message, Tool } from '../../core/message.ts';
import type { ToolUseOptions } from '../../core/request.ts';
import type { CodeOutput, ServerCallResult } from '../../core/server-tools.ts';
import { neutralizeText, neutralizeProgramOutput } from './neutralize-text.ts';
import { parseEmbeddedJson } from './generate-object.ts';
import { addToSystemMessage } from '../tools/prompted-calls.ts';
import { truncateMiddle } from './conversation-digest.ts';

/** Creates the tool with which the model runs programs. Its name differs from the names of the caller's tools. */
export function createCodeTool(callerTools: readonly Tool[]): Tool {
  const names = new Set(callerTools.map(({ name }) => name));
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

/** Asks the model to write a program, instead of a result, where something must be computed. */
export const addProgramInstructions = (messages: readonly Message[]): readonly Message[] =>
  addToSystemMessage(messages, PROGRAM_INSTRUCTIONS);

const PROGRAM_INSTRUCTIONS =
  'You can run Python. Whenever the answer needs a calculation, a count, a date or data processing, do not answer from memory: write one complete program in a ' +
  'block that starts with ```python and ends with ```, and print the result in it. Stop after the block: the program is run, and you get its real output for ' +
  'your answer. Never write the output of a program yourself.';

/**
 * Adds the code tool to the caller's tools. Undefined when the caller forces a call: it must be one of the caller's
 * tools.
 */
export function addCodeTool(toolUse: ToolUseOptions | undefined, tool: Tool): ToolUseOptions | undefined {
  if (!toolUse) return { tools: [tool], choice: 'auto', isParallel: false, streamsComplexArguments: false };
  return toolUse.choice === 'auto' ? { ...toolUse, tools: [...toolUse.tools, tool] } : undefined;
}

/**
 * Reads the program from a call's arguments; undefined when there is none. Without a grammar some models write it
 * without JSON.
 */
export function parseProgram(argumentsText: string): string | undefined {
  const value = parseEmbeddedJson(argumentsText);
  if (typeof value === 'object' && value !== null) {
    const texts = Object.values(value).filter((each) => typeof each === 'string');
    const { code } = { code: undefined, ...value } as Record<string, unknown>;
    const program = typeof code === 'string' ? code : texts.length === 1 ? texts[0] : undefined;
    return program?.trim() ? removeFence(program) : undefined;
  }
  const text = argumentsText.trim();
  return text === '' || text.startsWith('{') ? undefined : removeFence(text);
}

const removeFence = (text: string): string => /^\s*```\w*\n(.*?)\n?```\s*$/s.exec(text)?.[1] ?? text;

/** Formats the result of a program for the model. */
export function formatCodeResult(result: ServerCallResult & { readonly type: 'code' }, charactersMax: number): string {
  const { output, failure } = result;
  if (failure) return `The program was not run: ${neutralizeText(failure.message)}`;
  if (!output) return NO_OUTPUT;
  const lines = formatOutputLines(output).join('\n');
  return lines === '' ? NO_OUTPUT : truncateMiddle(lines, charactersMax);
}

const NO_OUTPUT = '(The program ended and printed nothing.)';

/** Program output may contain text of any origin, so it is neutralized. */
function formatOutputLines({ stdout, stderr, value, error, files, isTruncated }: CodeOutput): string[] {
  const neutralize = (text: string): string =>
    neutralizeProgramOutput(truncateMiddle(text, PROMPT_PROGRAM_OUTPUT_CHARS_MAX)).trimEnd();
  return [
    neutralize(stdout),
    ...(value === undefined ? [] : [neutralize(value)]),
    ...(stderr.trim() === '' ? [] : [`stderr: ${neutralize(stderr)}`]),
    ...(error ? [`error: ${neutralize(error.message)}`] : []),
    ...(files.length === 0 ? [] : [`files written: ${files.map(({ name }) => neutralize(name)).join(', ')}`]),
    ...(isTruncated ? ['(some of it was left out)'] : []),
  ].filter((line) => line !== '');
}
