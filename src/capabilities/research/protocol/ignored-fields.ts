import { isDefined } from '../../../lib/omit-nullish.ts';
import { toNativePath } from '../../../protocols/native/generation/to-native-path.ts';
import type { ResearchWire } from './schema.ts';

/**
 * Lists known fields that request a feature without having an effect, by their path in the request. Deep research has
 * no sampling parameters, tools or length limits of the caller's choice.
 */
export function listIgnoredResearchFields({ input, parameters }: ResearchWire): readonly string[] {
  const messages = input?.messages ?? [];
  const messageFields = IGNORED_MESSAGE_FIELDS.filter((name) =>
    messages.some((message) => requestsSomething(name in message ? Reflect.get(message, name) : undefined)),
  );
  const hasCacheControl = messages.some(
    ({ content }) =>
      Array.isArray(content) && content.some(({ cache_control: cacheControl }) => isDefined(cacheControl)),
  );
  return [
    ...[...messageFields, ...(hasCacheControl ? ['cache_control'] : [])].map((name) =>
      toNativePath(`messages.${name}`),
    ),
    ...(messages.length > 0 && input?.history?.length ? ['input.history'] : []),
    ...Object.entries(parameters ?? {})
      .filter(([name, value]) => !hasNoIgnoredEffect(name, value))
      .map(([name]) => toNativePath(name)),
  ];
}

const IGNORED_MESSAGE_FIELDS = ['name', 'reasoning_content', 'tool_calls'];

/**
 * Whether the value changes nothing about deep research. Answers are messages, incremental, and one per request anyway.
 */
function hasNoIgnoredEffect(name: string, value: unknown): boolean {
  switch (name) {
    case 'output_format':
      return true;
    case 'result_format':
      return value !== 'text';
    case 'incremental_output':
      return value !== false;
    case 'n':
      return !isDefined(value) || value === 1;
    default:
      return !requestsSomething(value);
  }
}

/** Whether a value requests a feature: null, false, '', 'none' and an empty list do not. */
const requestsSomething = (value: unknown): boolean =>
  isDefined(value) &&
  value !== false &&
  value !== 'none' &&
  value !== '' &&
  !(Array.isArray(value) && value.length === 0);
