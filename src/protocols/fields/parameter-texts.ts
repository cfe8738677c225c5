import type { ModelEntry } from '../../catalogue/model.ts';
import { CHOICES_MAX, SEED_MAX } from '../../core/limits.ts';
import {
  MESSAGES_MAX,
  SCHEMA_NAME_CHARS_MAX,
  STOP_SEQUENCES_MAX,
  TOOL_NAME_CHARS_MAX,
  TOP_LOGPROBS_MAX,
} from '../limits.ts';
import type { RuleTexts } from '../parse.ts';
import type { FieldPathMapper } from './field-path-mapper.ts';

// Error texts of shared fields, partly prescribed (docs/wire/openai-compatible.md#errors).

/** Prescribed text for a part that is not text, sent to a model that accepts only text. */
export const CONTENT_NOT_STRING = 'input content must be a string.';

export const CONTENT_MISSING = 'The content field is a required field.';

const CACHE_CONTROL = 'cache_control must be {"type": "ephemeral"}, with a ttl of "5m" if any';

export const MESSAGE_TEXTS: RuleTexts = {
  messages: (value) =>
    Array.isArray(value) && value.length === 0
      ? "[] is too short - 'messages'"
      : `messages must be an array of 1 to ${MESSAGES_MAX} messages`,
  'messages[].role': 'Role must be one of system, developer, user, assistant, tool',
  'messages[].content': (value) => (value === undefined || value === null ? CONTENT_MISSING : CONTENT_NOT_STRING),
  'messages[].content[].type': CONTENT_NOT_STRING,
  'messages[].content[].cache_control.type': CACHE_CONTROL,
  'messages[].content[].cache_control.ttl': CACHE_CONTROL,
};

export const formatMaxTokensRange = ({ contextTokens }: Pick<ModelEntry, 'contextTokens'>): string =>
  `Range of max_tokens should be [1, ${contextTokens}]`;

/** Returns the error texts of the parameters, with the limits of a model. */
export function createParameterTexts({ contextTokens, maxThinkingTokens }: ModelEntry): RuleTexts {
  const thinkingMax = maxThinkingTokens ?? contextTokens;
  const stop = `stop must be a string, or an array of at most ${STOP_SEQUENCES_MAX} strings or token ids, not both`;
  const maxTokens = formatMaxTokensRange({ contextTokens });
  return {
    max_tokens: maxTokens,
    max_completion_tokens: maxTokens.replace('max_tokens', 'max_completion_tokens'),
    temperature: createFloatText('temperature', 'Temperature should be in [0.0, 2.0)'),
    top_p: createFloatText('top_p', 'Range of top_p should be (0.0, 1.0]'),
    top_k: 'Parameter top_k be greater than or equal to 0',
    min_p: createFloatText('min_p', 'Range of min_p should be [0.0, 1.0]'),
    repetition_penalty: createFloatText('repetition_penalty', 'Repetition_penalty should be greater than 0.0'),
    presence_penalty: createFloatText('presence_penalty', 'Presence_penalty should be in [-2.0, 2.0]'),
    frequency_penalty: createFloatText('frequency_penalty', 'Frequency_penalty should be in [-2.0, 2.0]'),
    n: `Range of n should be [1, ${CHOICES_MAX}]`,
    seed: `Range of seed should be [0, ${SEED_MAX}]`,
    top_logprobs: `Range of top_logprobs should be [0, ${TOP_LOGPROBS_MAX}]`,
    stop,
    'stop[]': stop,
    thinking_budget: `The thinking_budget parameter must be a positive integer and not greater than ${thinkingMax}`,
    tool_choice: TOOL_CHOICE,
    'tool_choice.type': TOOL_CHOICE,
    'tool_choice.function.name': FUNCTION_NAME,
    'tools[].function.name': FUNCTION_NAME,
    response_format: RESPONSE_FORMAT,
    'response_format.type': RESPONSE_FORMAT,
    'response_format.json_schema.name': createNameText(SCHEMA_NAME),
  };
}

/** Moves error texts to the paths that the fields have in another interface. */
export const mapTextPaths = (texts: RuleTexts, toPath: FieldPathMapper): RuleTexts =>
  Object.fromEntries(Object.entries(texts).map(([field, text]) => [toPath(field), text]));

const TOOL_CHOICE =
  'tool_choice is one of the strings that should be ["none", "auto", "required"], or names a function';

const SCHEMA_NAME = `A schema's name has 1 to ${SCHEMA_NAME_CHARS_MAX} letters, digits, underscores or hyphens`;

const FUNCTION_NAME = createNameText(
  `A function's name has 1 to ${TOOL_NAME_CHARS_MAX} letters, digits, underscores or hyphens, and at most 64 tokens`,
);

/** Adds the first character that is not allowed to the rule of a name. */
function createNameText(rule: string) {
  return (value: unknown): string => {
    const invalid = typeof value === 'string' ? /[^A-Za-z0-9_-]/u.exec(value)?.[0] : undefined;
    return invalid === undefined ? rule : `${rule}; the character ${JSON.stringify(invalid)} is not allowed`;
  };
}

const RESPONSE_FORMAT =
  "Unknown format of response_format, response_format should be a dict, includes 'type' and an optional key 'json_schema'.";

const createFloatText = (name: string, range: string) => (value: unknown) =>
  typeof value === 'number' ? range : `'${name}' must be Float`;
