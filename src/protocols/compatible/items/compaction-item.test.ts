import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeSummary, encodeSummary } from './compaction-item.ts';
import { decodeItems } from './decode-items.ts';
import { AnyItem } from './item-schema.ts';

describe('the content of compaction items', () => {
  for (const summary of ['a', 'Paris: sunny\n', '巴黎 😀', '\uFEFFx'])
    test(`returns the summary ${JSON.stringify(summary)} unchanged`, () =>
      assert.equal(decodeSummary(encodeSummary(summary)), summary));

  const valid = encodeSummary('Paris is sunny.');
  for (const content of [
    '',
    'gAAAAABo',
    valid.slice(0, -1),
    valid.slice(2),
    'parley-summary-1.',
    'parley-summary-1._w',
  ])
    test(`does not read ${JSON.stringify(content)}`, () => assert.equal(decodeSummary(content), undefined));

  test('becomes an assistant message, under both names', () => {
    for (const type of ['compaction', 'compaction_summary']) {
      const items = [
        { role: 'user', content: 'Hi' },
        { type, encrypted_content: valid },
      ];
      const messages = decodeItems(items.map((item) => AnyItem.parse(item)));
      assert.deepEqual(
        messages.map(({ role }) => role),
        ['user', 'assistant'],
      );
      assert.match(JSON.stringify(messages[1]?.content), /Summary of the conversation so far.*Paris is sunny\./);
    }
    assert.equal(AnyItem.parse({ type: 'compaction', encrypted_content: 'x' }).type, 'other');
  });
});
