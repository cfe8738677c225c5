import type { TokenLogprob } from '../../../core/event.ts';
import type { ServerCall } from '../../../core/server-tools.ts';
import { encodeLogprobs } from '../../fields/logprobs.ts';
import type { AnswerForm } from './form.ts';

/** A call or, in an incremental stream, a piece of one: then without name, and with an empty id. */
export interface SaidCall {
  readonly index: number;
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name?: string; readonly arguments: string };
}

/** What one choice says in one answer or one event. */
export interface Said {
  readonly index: number;
  readonly text: string;
  /** Undefined: nothing was thought. */
  readonly thought: string | undefined;
  readonly calls: readonly SaidCall[];
  readonly logprobs: readonly TokenLogprob[];
  /** Programs that were run for it. */
  readonly programs: readonly string[];
  /** wire.md 1.3: the string "null" while it is being made. */
  readonly reason: string;
}

/**
 * `output` of wire.md 1.3, 1.4 and 1.8; the role is in every event.
 *
 * @param searchInfo What is said of a search, where something is.
 */
export function encodeOutput(all: readonly Said[], form: AnswerForm, searchInfo?: object): object {
  const programs = all.flatMap((said) => said.programs);
  return {
    ...encodeAnswer(all, form),
    ...(searchInfo ? { search_info: searchInfo } : {}),
    // wire.md 1.6.
    ...(programs.length > 0
      ? { tool_info: programs.map((code) => ({ code_interpreter: { code }, type: 'code_interpreter' })) }
      : {}),
  };
}

function encodeAnswer(all: readonly Said[], form: AnswerForm): object {
  if (form.type === 'translation')
    // The specification's translation response object.
    return {
      text: null,
      finish_reason: all[0]?.reason,
      choices: all.map((said) => encodeChoice(said, form)),
      model_name: form.modelName,
    };
  if (form.type === 'text') return { finish_reason: all[0]?.reason, text: all[0]?.text };
  return { choices: all.map((said) => encodeChoice(said, form)) };
}

function encodeChoice(
  { index, text, thought, calls, logprobs, reason }: Said,
  { type, choices, hasThought, hasLogprobs }: AnswerForm,
): object {
  return {
    finish_reason: reason,
    ...(choices > 1 ? { index } : {}),
    message: {
      role: 'assistant',
      content: type === 'parts' ? (text === '' ? [] : [{ text }]) : text,
      ...(hasThought || thought !== undefined ? { reasoning_content: thought ?? '' } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
    ...(hasLogprobs ? { logprobs: encodeLogprobs(logprobs) ?? { content: [] } } : {}),
  };
}

export const programOf = (call: ServerCall): readonly string[] => (call.type === 'code' ? [call.code] : []);
