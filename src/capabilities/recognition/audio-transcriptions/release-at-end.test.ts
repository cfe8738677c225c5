import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { releaseAtEnd } from './release-at-end.ts';

describe('releaseAtEnd', () => {
  const open = (source: AsyncIterable<number>) => {
    let releases = 0;
    const events = releaseAtEnd(source, async () => void releases++)[Symbol.asyncIterator]();
    return { events, getReleases: () => releases };
  };
  async function* count(): AsyncGenerator<number> {
    yield 1;
    yield 2;
  }

  it('releases after the last event', async () => {
    const { events, getReleases } = open(count());
    await events.next();
    await events.next();
    assert.equal(getReleases(), 0);
    assert.equal((await events.next()).done, true);
    await events.return?.();
    assert.equal(getReleases(), 1);
  });

  it('releases when the source fails', async () => {
    const failing = async function* (): AsyncGenerator<number> {
      yield 1;
      throw new Error('broken');
    };
    const { events, getReleases } = open(failing());
    await events.next();
    await assert.rejects(events.next(), /broken/);
    assert.equal(getReleases(), 1);
  });

  it('releases a source that is closed before its first read', async () => {
    const { events, getReleases } = open(count());
    await events.return?.();
    assert.equal(getReleases(), 1);
  });
});
