import type { ModelEntry } from '../../catalogue/model.ts';
import {
  CHOICES_MAX,
  MESSAGES_MAX,
  SCHEMA_NAME_CHARACTERS_MAX,
  SEED_MAX,
  STOP_SEQUENCES_MAX,
  TOOL_NAME_CHARACTERS_MAX,
  TOP_LOGPROBS_MAX,
} from '../../core/limits.ts';
import type { RuleTexts } from '../parse.ts';
import type { Place } from './place.ts';

// Prescribed texts of wire.md 1.7, which are the same wherever a field stands.

/** What a text model says to a part that is not text. */
export const CONTENT = 'input content must be a string.';

export const CONTENT_MISSING = 'The content field is a required field.';

const CACHE_CONTROL = 'cache_control must be {"type": "ephemeral"}, with a ttl of "5m" if any';

export const MESSAGE_TEXTS: RuleTexts = {
  messages: (value) =>
    Array.isArray(value) && value.length === 0
      ? "[] is too short - 'messages'"
      : `messages must be an array of 1 to ${MESSAGES_MAX} messages`,
  'messages[].role': 'Role must be one of system, developer, user, assistant, tool',
  'messages[].content': (value) => (value === undefined || value === null ? CONTENT_MISSING : CONTENT),
  'messages[].content[].type': CONTENT,
  'messages[].content[].cache_control.type': CACHE_CONTROL,
  'messages[].content[].cache_control.ttl': CACHE_CONTROL,
};

/** With the limits of this model. */
export function parameterTexts({ contextTokens, maxThinkingTokens }: ModelEntry): RuleTexts {
  const thinkingMax = maxThinkingTokens ?? contextTokens;
  const stop = `stop must be a string, or an array of at most ${STOP_SEQUENCES_MAX} strings or token ids, not both`;
  const maxTokens = `Range of max_tokens should be [1, ${contextTokens}]`;
  return {
    max_tokens: maxTokens,
    max_completion_tokens: maxTokens.replace('max_tokens', 'max_completion_tokens'),
    temperature: floatText('temperature', 'Temperature should be in [0.0, 2.0)'),
    top_p: floatText('top_p', 'Range of top_p should be (0.0, 1.0]'),
    top_k: 'Parameter top_k be greater than or equal to 0',
    min_p: floatText('min_p', 'Range of min_p should be [0.0, 1.0]'),
    repetition_penalty: floatText('repetition_penalty', 'Repetition_penalty should be greater than 0.0'),
    presence_penalty: floatText('presence_penalty', 'Presence_penalty should be in [-2.0, 2.0]'),
    frequency_penalty: floatText('frequency_penalty', 'Frequency_penalty should be in [-2.0, 2.0]'),
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
    'response_format.json_schema.name': `A schema's name has 1 to ${SCHEMA_NAME_CHARACTERS_MAX} letters, digits, underscores or hyphens`,
  };
}

/** The texts for an interface that has the fields elsewhere. */
export const textsAt = (texts: RuleTexts, place: Place): RuleTexts =>
  Object.fromEntries(Object.entries(texts).map(([field, text]) => [place(field), text]));

const TOOL_CHOICE =
  'tool_choice is one of the strings that should be ["none", "auto", "required"], or names a function';

const FUNCTION_NAME = `A function's name has 1 to ${TOOL_NAME_CHARACTERS_MAX} letters, digits, underscores or hyphens, and at most 64 tokens`;

const RESPONSE_FORMAT =
  "Unknown format of response_format, response_format should be a dict, includes 'type' and an optional key 'json_schema'.";

const floatText = (name: string, range: string) => (value: unknown) =>
  typeof value === 'number' ? range : `'${name}' must be Float`;
