import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { affinityOf, seedOf } from './affinity.ts';
import { chooseMember } from './choose-member.ts';

const ADDRESSES = ['http://a:1/v1', 'http://b:1/v1', 'http://c:1/v1'];
const candidates = (...outstanding: number[]) =>
  outstanding.map((busy, at) => ({ name: ADDRESSES[at], seed: seedOf(ADDRESSES[at] ?? ''), outstanding: busy }));

const affinities = Array.from({ length: 300 }, (_, at) =>
  affinityOf({ owner: { workspace: 'w', key: 'k' }, input: { type: 'tokens', tokens: [at] } }),
);
const none = (): number => 0;

describe('the choice of a member', () => {
  it('is the same for the same beginning, and about even over many', () => {
    const shares = new Map<string | undefined, number>();
    for (const affinity of affinities) {
      const chosen = chooseMember(candidates(0, 0, 0), affinity, none);
      assert.equal(chooseMember(candidates(4, 4, 4), affinity, () => 0.99)?.name, chosen?.name);
      shares.set(chosen?.name, (shares.get(chosen?.name) ?? 0) + 1);
    }
    assert.equal(shares.size, 3);
    for (const share of shares.values()) assert.ok(share > 60 && share < 140, String(share));
  });

  it('moves only what was at a member that is gone', () => {
    for (const affinity of affinities) {
      const all = candidates(0, 0, 0);
      const chosen = chooseMember(all, affinity, none);
      const left = all.filter(({ name }) => name !== 'http://b:1/v1');
      if (chosen?.name !== 'http://b:1/v1') assert.equal(chooseMember(left, affinity, none)?.name, chosen?.name);
    }
  });

  it('leaves the preferred one when it is clearly busier than the least busy', () => {
    const affinity = affinities.find((each) => chooseMember(candidates(0, 0, 0), each, none)?.name === ADDRESSES[0]);
    const nameAt = (...outstanding: number[]) => chooseMember(candidates(...outstanding), affinity, none)?.name;
    assert.equal(nameAt(4, 0, 1), ADDRESSES[0]);
    assert.equal(nameAt(5, 0, 1), ADDRESSES[1]);
    assert.equal(nameAt(105, 100, 90), ADDRESSES[0]);
    assert.equal(nameAt(113, 100, 90), ADDRESSES[2]);
  });

  it('takes one of the least busy at random where nothing is preferred', () => {
    assert.equal(chooseMember(candidates(1, 0, 0), undefined, () => 0)?.name, ADDRESSES[1]);
    assert.equal(chooseMember(candidates(1, 0, 0), undefined, () => 0.999)?.name, ADDRESSES[2]);
    assert.equal(chooseMember([], undefined, none), undefined);
  });
});
