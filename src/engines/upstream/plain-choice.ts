import type { WireChoice } from './chunk.ts';

/**
 * The commonest event by far, read by hand because it comes with every token: one choice that says a piece of text or
 * thought, and nothing else that anybody reads. Undefined for any other event, which `Chunk` then reads; what is read here
 * it would read alike.
 */
export function plainChoice(event: unknown): WireChoice | undefined {
  if (!isObject(event)) return undefined;
  const { choices, usage, error, object } = event;
  if (usage || error || object === 'error' || !Array.isArray(choices) || choices.length !== 1) return undefined;
  const [choice]: readonly unknown[] = choices;
  if (!isObject(choice)) return undefined;
  const { index, delta, message, finish_reason, logprobs, stop_reason, matched_stop } = choice;
  if (!isNothing(finish_reason) || !isNothing(logprobs) || !isNothing(message)) return undefined;
  if (!isNothing(stop_reason) || !isNothing(matched_stop) || !isObject(delta)) return undefined;
  const { content, reasoning_content, reasoning, refusal, tool_calls, function_call } = delta;
  if (!isNothing(refusal) || !isNothing(tool_calls) || !isNothing(function_call)) return undefined;
  if (!isIndex(index) || !isText(content) || !isText(reasoning_content) || !isText(reasoning)) return undefined;
  return { index, delta: { content, reasoning_content, reasoning } };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isNothing = (value: unknown): value is null | undefined => value === null || value === undefined;

const isText = (value: unknown): value is string | null | undefined => typeof value === 'string' || isNothing(value);

const isIndex = (value: unknown): value is number | null | undefined =>
  isNothing(value) || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0);
