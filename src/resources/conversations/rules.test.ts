import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkItems, checkMetadata } from './rules.ts';

const items = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `msg_${at}`, json: '{}' }));
const pairs = (count: number) => new Map(Array.from({ length: count }, (_, at) => [`key ${at}`, 'value']));

test('accepts 20 items and refuses 21 with the field and the number', () => {
  checkItems(items(20));
  assert.throws(() => checkItems(items(21)), {
    kind: 'invalid-request',
    param: 'items',
    message: 'items must have at most 20 items, got 21.',
  });
});

test('accepts metadata up to its limits, which count code points', () => {
  checkMetadata(new Map());
  checkMetadata(pairs(16));
  checkMetadata(new Map([['🔑'.repeat(64), '🔑'.repeat(512)]]));
});

test('refuses metadata above a limit with the pair and the rule, without the value', () => {
  const refused = (metadata: ReadonlyMap<string, string>, param: string, message: string) =>
    assert.throws(() => checkMetadata(metadata), { kind: 'invalid-request', param, message });
  refused(pairs(17), 'metadata', 'metadata must have at most 16 pairs, got 17.');
  refused(
    new Map([['k'.repeat(65), '']]),
    'metadata',
    'metadata must have keys of at most 64 characters, got one of 65.',
  );
  refused(
    new Map([['topic', 'v'.repeat(513)]]),
    'metadata.topic',
    'metadata.topic must have at most 512 characters, got 513.',
  );
});
