import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { computeAffinity, hashAddress } from './affinity.ts';
import { chooseMember } from './choose-member.ts';

const ADDRESSES = ['http://a:1/v1', 'http://b:1/v1', 'http://c:1/v1'];
const candidates = (...outstanding: number[]) =>
  outstanding.map((busy, at) => ({ name: ADDRESSES[at], seed: hashAddress(ADDRESSES[at] ?? ''), outstanding: busy }));

const affinities = Array.from({ length: 300 }, (_, at) =>
  computeAffinity({ owner: { workspace: 'w', key: 'k' }, input: { type: 'tokens', tokens: [at] } }),
);
const none = (): number => 0;

describe('chooseMember', () => {
  it('chooses the same member for the same affinity, and distributes affinities about evenly', () => {
    const shares = new Map<string | undefined, number>();
    for (const affinity of affinities) {
      const chosen = chooseMember(candidates(0, 0, 0), affinity, none);
      assert.equal(chooseMember(candidates(4, 4, 4), affinity, () => 0.99)?.name, chosen?.name);
      shares.set(chosen?.name, (shares.get(chosen?.name) ?? 0) + 1);
    }
    assert.equal(shares.size, 3);
    for (const share of shares.values()) assert.ok(share > 60 && share < 140, String(share));
  });

  it('moves only the affinities of a removed member', () => {
    for (const affinity of affinities) {
      const all = candidates(0, 0, 0);
      const chosen = chooseMember(all, affinity, none);
      const left = all.filter(({ name }) => name !== 'http://b:1/v1');
      if (chosen?.name !== 'http://b:1/v1') assert.equal(chooseMember(left, affinity, none)?.name, chosen?.name);
    }
  });

  it('skips the preferred member when it is clearly busier than the least busy one', () => {
    const affinity = affinities.find((each) => chooseMember(candidates(0, 0, 0), each, none)?.name === ADDRESSES[0]);
    const nameAt = (...outstanding: number[]) => chooseMember(candidates(...outstanding), affinity, none)?.name;
    assert.equal(nameAt(4, 0, 1), ADDRESSES[0]);
    assert.equal(nameAt(5, 0, 1), ADDRESSES[1]);
    assert.equal(nameAt(105, 100, 90), ADDRESSES[0]);
    assert.equal(nameAt(113, 100, 90), ADDRESSES[2]);
  });

  it('chooses one of the least busy members at random without an affinity', () => {
    assert.equal(chooseMember(candidates(1, 0, 0), undefined, () => 0)?.name, ADDRESSES[1]);
    assert.equal(chooseMember(candidates(1, 0, 0), undefined, () => 0.999)?.name, ADDRESSES[2]);
    assert.equal(chooseMember([], undefined, none), undefined);
  });
});
