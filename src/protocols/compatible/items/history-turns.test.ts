import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { groupHistoryTurns } from './history-turns.ts';
import { AnyItem, type WireItem } from './item-schema.ts';

/** Items by letter: u(ser), a(ssistant), s(ystem), c(all), r(esult), t(hought), w(eb search). */
const SHAPES: Readonly<Record<string, unknown>> = {
  u: { role: 'user', content: '' },
  a: { role: 'assistant', content: '' },
  s: { role: 'system', content: '' },
  c: { type: 'function_call', call_id: 'x', name: 'f', arguments: '' },
  r: { type: 'function_call_output', call_id: 'x', output: '' },
  t: { type: 'reasoning', summary: [] },
  w: { type: 'web_search_call', id: 'w', action: { query: '' } },
};
const items = (letters: string): readonly WireItem[] => [...letters].map((letter) => AnyItem.parse(SHAPES[letter]));
const itemToLetter = (item: WireItem): string => {
  if (item.type === 'message') return item.role.charAt(0);
  return {
    function_call: 'c',
    function_call_output: 'r',
    reasoning: 't',
    server_call: 'w',
    compaction: 'k',
    item_reference: '?',
    other: '?',
  }[item.type];
};

describe('dropping the oldest turns of a history', () => {
  for (const [history, input, without] of [
    ['uaua', '', ['uaua', 'ua', '']],
    ['suasua', '', ['suasua', 'ssua', 'ss']],
    ['uucrtcraua', '', ['uucrtcraua', 'ua', '']],
    ['aua', '', ['aua', 'ua', '']],
    ['utwwaua', '', ['utwwaua', 'ua', '']],
    ['usua', '', ['usua', 's']],
    ['', '', ['']],
    ['s', '', ['s']],
    ['uaucua', 'r', ['uaucua', 'ucua']],
    ['ucua', 'r', ['ucua']],
  ] as const) {
    test(`${history || 'nothing'}${input === '' ? '' : `, then ${input}`}`, () => {
      const turns = groupHistoryTurns(items(history), items(input));
      const each = Array.from({ length: turns.count + 1 }, (_, dropped) =>
        turns.withoutOldest(dropped).map(itemToLetter).join(''),
      );
      assert.deepEqual(each, without);
    });
  }
});
