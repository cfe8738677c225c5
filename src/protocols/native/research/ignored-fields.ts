import { isPresent } from '../../../lib/present.ts';
import { place } from '../generation/place.ts';
import type { ResearchWire } from './schema.ts';

/**
 * Known fields that changed nothing although they ask for another answer, by their places in the request: how tokens are
 * chosen, what may be called and how long an answer is are not a caller's to say here.
 */
export function ignoredFields({ input, parameters }: ResearchWire): readonly string[] {
  const messages = input?.messages ?? [];
  const besideContent = BESIDE_CONTENT.filter((name) =>
    messages.some((message) => asksForMore(name in message ? Reflect.get(message, name) : undefined)),
  );
  const isMarked = messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ cache_control: mark }) => isPresent(mark)),
  );
  return [
    ...[...besideContent, ...(isMarked ? ['cache_control'] : [])].map((name) => place(`messages.${name}`)),
    ...(messages.length > 0 && input?.history?.length ? ['input.history'] : []),
    ...Object.entries(parameters ?? {})
      .filter(([name, value]) => !isHonoured(name, value))
      .map(([name]) => place(name)),
  ];
}

const BESIDE_CONTENT = ['name', 'reasoning_content', 'tool_calls'];

/** Answers come as messages, in increments, one of them: whoever asks for that gets what was asked for. */
function isHonoured(name: string, value: unknown): boolean {
  switch (name) {
    case 'output_format':
      return true;
    case 'result_format':
      return value !== 'text';
    case 'incremental_output':
      return value !== false;
    case 'n':
      return !isPresent(value) || value === 1;
    default:
      return !asksForMore(value);
  }
}

/** Null, false, an empty list and the word none ask for nothing. */
const asksForMore = (value: unknown): boolean =>
  isPresent(value) &&
  value !== false &&
  value !== 'none' &&
  value !== '' &&
  !(Array.isArray(value) && value.length === 0);
