import type { WireChoice } from './chunk.ts';
import { isRecord } from '../../lib/is-record.ts';

/**
 * Parses the most frequent event without the schema, for speed: one choice with a piece of text or reasoning and no other
 * field that Parley reads. Returns undefined for any other event, which `Chunk` then parses. Both give the same result.
 */
export function parsePlainChoice(event: unknown): WireChoice | undefined {
  if (!isRecord(event)) return undefined;
  const { choices, usage, error, object } = event;
  if (usage || error || object === 'error' || !Array.isArray(choices) || choices.length !== 1) return undefined;
  const [choice]: readonly unknown[] = choices;
  if (!isRecord(choice)) return undefined;
  const { index, delta, message, finish_reason, logprobs, stop_reason, matched_stop } = choice;
  if (!isNullish(finish_reason) || !isNullish(logprobs) || !isNullish(message)) return undefined;
  if (!isNullish(stop_reason) || !isNullish(matched_stop) || !isRecord(delta)) return undefined;
  const { content, reasoning_content, reasoning, refusal, tool_calls, function_call } = delta;
  if (!isNullish(refusal) || !isNullish(tool_calls) || !isNullish(function_call)) return undefined;
  if (!isIndex(index) || !isText(content) || !isText(reasoning_content) || !isText(reasoning)) return undefined;
  return { index, delta: { content, reasoning_content, reasoning } };
}

const isNullish = (value: unknown): value is null | undefined => value === null || value === undefined;

const isText = (value: unknown): value is string | null | undefined => typeof value === 'string' || isNullish(value);

const isIndex = (value: unknown): value is number | null | undefined =>
  isNullish(value) || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0);
