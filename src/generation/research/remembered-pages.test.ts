import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RESEARCH_REMEMBERED_PAGES_MAX } from '../../core/limits.ts';
import { page } from './__fixtures__/study.ts';
import { createRememberedPages } from './remembered-pages.ts';

const NEVER = new AbortController().signal;

function remembered() {
  const asked: string[] = [];
  const readPage = createRememberedPages(async ({ url }) => {
    asked.push(url);
    if (url.endsWith('broken') && asked.length === 1) throw new Error('not now');
    return page(url, 'What it says.', url);
  });
  return { asked, read: (url: string) => readPage({ url, workspace: 'one' }, NEVER) };
}

describe('pages that a research has read', () => {
  it('are asked for once', async () => {
    const { asked, read } = remembered();
    assert.equal(await read('https://a.example/'), await read('https://a.example/#part'));
    assert.deepEqual(asked, ['https://a.example/']);
  });

  it('are asked for again where that failed', async () => {
    const { asked, read } = remembered();
    await assert.rejects(read('https://a.example/broken'));
    assert.equal((await read('https://a.example/broken')).passage, 'What it says.');
    assert.equal(asked.length, 2);
  });

  it('are forgotten, the one not used for longest first', async () => {
    const { asked, read } = remembered();
    for (let at = 0; at < RESEARCH_REMEMBERED_PAGES_MAX; at++) await read(`https://a.example/${at}`);
    await read('https://a.example/0');
    await read('https://a.example/new');
    const before = asked.length;
    await read('https://a.example/0');
    assert.equal(asked.length, before);
    await read('https://a.example/1');
    assert.equal(asked.length, before + 1);
  });
});
