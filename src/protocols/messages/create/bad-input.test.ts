import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../../test/property-runs.ts';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { parseBody } from '../../parse.ts';
import { decodeMessagesRequest } from './decode.ts';
import { listIgnoredMessagesFields } from './ignored-fields.ts';
import { checkMessagesRules } from './rules.ts';
import { MessagesBody, createMessagesTexts } from './schema.ts';

const entry: ModelEntry = {
  name: 'm',
  description: '',
  runner: { type: 'none', reason: 'a test' },
  contextTokens: 4096,
  abilities: { thinking: 'prompted', tools: true, vision: true, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['messages'],
  sampling: {},
  created: 0,
};

const CACHE_MARK = { type: 'ephemeral', ttl: '5m' };

/** A body with one of each kind of field and block. */
const BODY = {
  model: 'm',
  max_tokens: 9,
  system: [{ type: 'text', text: 's', cache_control: CACHE_MARK }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'x' } },
        { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'd' }] }, title: 't' },
        { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'r' }] },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'h', signature: 's' },
        { type: 'tool_use', id: 'i', name: 'f', input: { a: [1] }, cache_control: CACHE_MARK },
        { type: 'server_tool_use', id: 'j', name: 'web_search', input: {} },
      ],
    },
    { role: 'system', content: 'b' },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'i', content: [{ type: 'text', text: 'x' }] }] },
  ],
  tools: [
    { name: 'f', description: 'd', input_schema: { type: 'object' }, cache_control: CACHE_MARK },
    { type: 'bash_20250124', name: 'bash' },
  ],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  thinking: { type: 'adaptive', display: 'omitted' },
  output_config: { effort: 'high', format: { type: 'json_schema', schema: {} } },
  stop_sequences: ['x'],
  metadata: { user_id: 'u' },
  container: {},
};

/** Replaces the value at a path. */
function replaceAt(value: unknown, path: readonly number[], other: unknown): unknown {
  const [position, ...rest] = path;
  if (position === undefined || typeof value !== 'object' || value === null) return other;
  const keys = Object.keys(value);
  const key = keys[position % keys.length];
  if (key === undefined) return other;
  if (Array.isArray(value)) return value.with(Number(key), replaceAt(value[Number(key)], rest, other));
  return { ...value, [key]: replaceAt(Reflect.get(value, key), rest, other) };
}

const other = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    'text',
    0,
    -1,
    1e300,
    true,
    [],
    {},
    [null],
    [[]],
    { type: 'text' },
    { type: null },
  ),
  fc.constantFrom<unknown>('user', 'assistant', 'tool_result', 'document', 'image', 'custom', 'tool_reference'),
  fc.jsonValue(),
);

test('accepts or rejects any body, without an internal error', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.array(fc.nat(9), { maxLength: 7 }), other), { maxLength: 2 }), (changes) => {
      const body = changes.reduce((current: unknown, [path, value]) => replaceAt(current, path, value), BODY);
      try {
        const { wire } = parseBody(MessagesBody, body, { texts: createMessagesTexts(entry) });
        checkMessagesRules(wire, entry);
        const { messages } = decodeMessagesRequest(wire);
        assert.ok(messages.length > 0);
        listIgnoredMessagesFields(wire, []);
      } catch (error) {
        assert.ok(error instanceof ServiceError, String(error));
        assert.match(error.kind, /^(invalid-request|unsupported)$/);
      }
    }),
    { numRuns: scalePropertyRuns(2_000) },
  );
});
