import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createPageReader } from './page-reader.ts';

const NEVER = new AbortController().signal;

const reader = createPageReader({ msMax: 1_500, heapMb: 128, residentBytesMax: 512 * 1024 * 1024 });
after(() => reader.close());

const pageOf = (html: string) =>
  ({
    kind: 'html',
    bytes: new TextEncoder().encode(html),
    contentType: 'text/html; charset=utf-8',
    url: 'https://sea.example/',
    charsMax: 1_000,
  }) as const;

const read = (html: string, signal = NEVER) => reader.read(pageOf(html), signal);

const judge = (rules: string, path: string) =>
  reader.judge(
    { rulesUrl: 'https://sea.example/robots.txt', rules, url: `https://sea.example${path}`, agent: 'Parley' },
    NEVER,
  );

describe('pages that are made to do harm', () => {
  const hostile: readonly (readonly [what: string, html: string])[] = [
    ['elements in elements without end', '<div>'.repeat(150_000)],
    ['a million beginnings of tags', '<'.repeat(4_000_000)],
    ['a sheet that never closes', `<html><head><style>${'a{'.repeat(900_000)}`],
    ['attributes without end', `<p ${Array.from({ length: 150_000 }, (_, at) => `a${at}=1`).join(' ')}>x`],
  ];
  for (const [what, html] of hostile) {
    it(`fail or are read, and the next page is read: ${what}`, async () => {
      const outcome = await read(html).then(
        () => 'read',
        (thrown: { readonly kind: string }) => thrown.kind,
      );
      assert.match(outcome, /^(?:read|upstream-failed)$/);
      assert.equal((await read('<p>Well.')).text, 'Well.');
    });
  }

  it('fail where they take more memory than they may', async () => {
    await assert.rejects(read('<'.repeat(8_000_000)), {
      kind: 'upstream-failed',
      message: /takes too much (?:memory|time)/,
    });
  });

  it('are read although they are deep', async () => {
    assert.equal((await read(`${'<div>'.repeat(5_000)}Deep down.`)).text, 'Deep down.');
  });

  it('run nothing and fetch nothing', async () => {
    const { text } = await read(
      '<p>Seen.</p><script>document.body.innerHTML="EVIL"</script><img src="http://127.0.0.1:1/" onerror="throw 1"><iframe src="file:///etc/passwd"></iframe>',
    );
    assert.equal(text, 'Seen.');
  });
});

describe('a reader of pages', () => {
  it('ends at once with the reason of its caller', async () => {
    const caller = new AbortController();
    const reading = read('<'.repeat(3_000_000), caller.signal);
    caller.abort(new Error('gone'));
    await assert.rejects(reading, /gone/);
    await assert.rejects(read('<p>x', caller.signal), /gone/);
  });

  it('judges rules while a page takes its time', async () => {
    const slow = read('<'.repeat(3_000_000)).catch(() => undefined);
    assert.deepEqual(await judge('User-agent: *\nDisallow: /', '/x'), {
      type: 'verdict',
      isAllowed: false,
      delaySeconds: 0,
    });
    await slow;
  });

  it('judges rules also while a page takes all memory that there is', async () => {
    const small = createPageReader({ msMax: 30_000, heapMb: 128, residentBytesMax: 200 * 1024 * 1024 });
    // They take about as long as the page takes to fill the process: whose limit is seen first is chance.
    const rules = `User-agent: *\n${`Disallow: /${'*a'.repeat(700)}b\n`.repeat(25)}Disallow: /a`;
    const url = `https://sea.example/${'a'.repeat(1_500)}`;
    const judging = small.judge({ rulesUrl: 'https://sea.example/robots.txt', rules, url, agent: 'Parley' }, NEVER);
    const reading = small.read(pageOf('<'.repeat(3_000_000)), NEVER);
    await assert.rejects(reading, { kind: 'upstream-failed', message: /takes too much memory/ });
    assert.equal((await judging).isAllowed, false);
    await small.close();
  });
});

describe('a reader that was closed', () => {
  it('starts nothing again', async () => {
    const closed = createPageReader();
    const rules = {
      rulesUrl: 'https://sea.example/robots.txt',
      rules: '',
      url: 'https://sea.example/',
      agent: 'Parley',
    };
    const judging = closed.judge(rules, NEVER).catch((error: { readonly kind: string }) => error.kind);
    await closed.close();
    assert.equal(await judging, 'upstream-failed');
    await assert.rejects(closed.judge(rules, NEVER), { kind: 'upstream-failed' });
  });
});

describe('the rules of a site', () => {
  const rules =
    'User-agent: *\nDisallow: /\n\nUser-agent: parley\nUser-agent: other\nDisallow: /private\nAllow: /private/*.html$\nCrawl-delay: 2';
  const cases: readonly (readonly [path: string, isAllowed: boolean])[] = [
    ['/', true],
    ['/private/x', false],
    ['/private/x.html', true],
    ['/private/x.html?a', false],
    ['/PRIVATE', true],
  ];
  for (const [path, isAllowed] of cases) {
    it(`that name us go before those for all: ${path}`, async () => {
      const verdict = await judge(rules, path);
      assert.deepEqual([verdict.isAllowed, verdict.delaySeconds], [isAllowed, 2]);
    });
  }

  it('allow what they do not speak of, and what is no rules is none', async () => {
    for (const text of ['', '<!doctype html><p>Not found', 'Disallow: /', 'User-agent: *\nDisallow:\n']) {
      assert.equal((await judge(text, '/x')).isAllowed, true, text);
    }
  });
});
