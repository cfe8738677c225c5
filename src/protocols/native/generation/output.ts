import type { TokenLogprob } from '../../../core/event.ts';
import type { ServerCall } from '../../../core/server-tools.ts';
import { encodeLogprobs } from '../../fields/logprobs.ts';
import type { AnswerFormat } from './answer-format.ts';

/** A tool call, or a later piece of one in an incremental stream, without a name and with an empty id. */
export interface ToolCallOutput {
  readonly index: number;
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name?: string; readonly arguments: string };
}

/** Content of one choice in a response or event. */
export interface ChoiceContent {
  readonly index: number;
  readonly text: string;
  /** Undefined without thinking. */
  readonly reasoning: string | undefined;
  readonly calls: readonly ToolCallOutput[];
  readonly logprobs: readonly TokenLogprob[];
  /** Source code that the code interpreter ran for this choice. */
  readonly programs: readonly string[];
  /** The string "null" while the answer is being generated (docs/wire/dashscope-native.md#generation-response). */
  readonly finishReason: string;
}

/** Encodes `output`; the role is in every event (docs/wire/dashscope-native.md#generation-stream). */
export function encodeOutput(choices: readonly ChoiceContent[], format: AnswerFormat, searchInfo?: object): object {
  const programs = choices.flatMap((choice) => choice.programs);
  return {
    ...encodeAnswer(choices, format),
    ...(searchInfo ? { search_info: searchInfo } : {}),
    // docs/wire/dashscope-native.md#code-interpreter
    ...(programs.length > 0
      ? { tool_info: programs.map((code) => ({ code_interpreter: { code }, type: 'code_interpreter' })) }
      : {}),
  };
}

function encodeAnswer(choices: readonly ChoiceContent[], format: AnswerFormat): object {
  if (format.type === 'translation')
    // docs/wire/dashscope-native.md#translation-request
    return {
      text: null,
      finish_reason: choices[0]?.finishReason,
      choices: choices.map((choice) => encodeChoice(choice, format)),
      model_name: format.modelName,
    };
  if (format.type === 'text') return { finish_reason: choices[0]?.finishReason, text: choices[0]?.text };
  return { choices: choices.map((choice) => encodeChoice(choice, format)) };
}

function encodeChoice(
  { index, text, reasoning, calls, logprobs, finishReason }: ChoiceContent,
  { type, choiceCount, hasReasoning, hasLogprobs }: AnswerFormat,
): object {
  return {
    finish_reason: finishReason,
    ...(choiceCount > 1 ? { index } : {}),
    message: {
      role: 'assistant',
      content: type === 'parts' ? (text === '' ? [] : [{ text }]) : text,
      ...(hasReasoning || reasoning !== undefined ? { reasoning_content: reasoning ?? '' } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
    ...(hasLogprobs ? { logprobs: encodeLogprobs(logprobs) ?? { content: [] } } : {}),
  };
}

export const listPrograms = (call: ServerCall): readonly string[] => (call.type === 'code' ? [call.code] : []);
