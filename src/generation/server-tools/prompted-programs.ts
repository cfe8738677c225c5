import { getMessageText, type Message, type Tool } from '../../core/message.ts';
import { NO_STOP, type GenerationRequest } from '../../core/request.ts';
import { parseProgram } from './code-tool.ts';
import { createTextMessage } from './decision-messages.ts';

/** Start of the answer of a model that must write a program. */
const OPENED_BLOCK = '```python\n';

const PROGRAM_TASK =
  'Compute this with a short Python script and print the result. No function, no test, no comment, no input(). ' +
  'Use only the standard library.';

/**
 * Creates the request of a run that writes a program: its answer starts inside a fenced block, so that the model neither
 * thinks nor answers in words. After a program that failed, the model gets it with its error.
 */
export function toProgramRequest(request: GenerationRequest, tool: Tool): GenerationRequest {
  const { serverTools: _, thinking: _thinking, toolUse: _toolUse, ...plain } = request;
  const { messages, programs } = splitPrograms(request.messages);
  const failed = programs.at(-1);
  return {
    ...plain,
    messages: [
      ...appendToQuestion(messages, PROGRAM_TASK),
      ...(failed
        ? [
            createTextMessage('assistant', `${OPENED_BLOCK}${failed.code}\n\`\`\``),
            createTextMessage(
              'user',
              `${failed.result}\n\nWrite the whole program again, in another way, so that it prints the result.`,
            ),
          ]
        : []),
      { ...createTextMessage('assistant', OPENED_BLOCK), partial: true },
    ],
    // The caller's stop strings are for the answer, and would cut the program.
    stop: NO_STOP,
    programBlocks: { tool: tool.name, opened: OPENED_BLOCK },
  };
}

/**
 * Moves the programs of the current turn and their results into the question: calls in the conversation would lead a
 * model without tools to imitate them.
 */
export function inlinePrograms(allMessages: readonly Message[]): readonly Message[] {
  const { messages, programs } = splitPrograms(allMessages);
  const texts = programs.map(
    ({ code, result }) => `This program was run:\n\`\`\`python\n${code}\n\`\`\`\nOutput:\n${result}`,
  );
  return appendToQuestion(messages, [...texts, 'Answer the question with this output, in words.'].join('\n\n'));
}

/** Lists the programs of the current turn. */
export const listPrograms = (messages: readonly Message[]): readonly string[] =>
  splitPrograms(messages).programs.map(({ code }) => code);

interface RunProgram {
  readonly code: string;
  readonly result: string;
}

/** Splits the messages after the last question off, and returns the programs among them with their results. */
function splitPrograms(messages: readonly Message[]): {
  readonly messages: readonly Message[];
  readonly programs: readonly RunProgram[];
} {
  const end = messages.findLastIndex(({ role }) => role === 'user') + 1;
  const turn = messages.slice(end);
  const calls = new Map(turn.flatMap(({ toolCalls }) => toolCalls ?? []).map((call) => [call.id, call]));
  const programs = turn.flatMap((message) => {
    const call = calls.get(message.toolCallId ?? '');
    if (!call) return [];
    return [{ code: parseProgram(call.arguments) ?? call.arguments, result: getMessageText(message) }];
  });
  return { messages: messages.slice(0, end), programs };
}

function appendToQuestion(messages: readonly Message[], text: string): readonly Message[] {
  const question = messages.at(-1);
  if (question?.role !== 'user') return [...messages, createTextMessage('user', text)];
  return messages.with(-1, { ...question, content: [...question.content, { type: 'text', text: `\n\n${text}` }] });
}
