import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createPageReader } from './page-reader.ts';

const NEVER = new AbortController().signal;

const reader = createPageReader({ cpuMsMax: 1_500, heapMb: 128, residentBytesMax: 512 * 1024 * 1024 });
after(() => reader.close());

const createPageTask = (html: string) =>
  ({
    kind: 'html',
    bytes: new TextEncoder().encode(html),
    contentType: 'text/html; charset=utf-8',
    url: 'https://sea.example/',
    charsMax: 1_000,
  }) as const;

const read = (html: string, signal = NEVER) =>
  reader.read(createPageTask(html), { tenant: { region: 'cn-beijing', workspace: 'ws' }, signal });

const evaluateRobots = (rules: string, path: string) =>
  reader.evaluateRobots(
    { rulesUrl: 'https://sea.example/robots.txt', rules, url: `https://sea.example${path}`, agent: 'Parley' },
    NEVER,
  );

describe('hostile pages', () => {
  const hostile: readonly (readonly [what: string, html: string])[] = [
    ['deeply nested elements', '<div>'.repeat(150_000)],
    ['millions of unclosed tags', '<'.repeat(4_000_000)],
    ['an unclosed style sheet', `<html><head><style>${'a{'.repeat(900_000)}`],
    [
      'an element with very many attributes',
      `<p ${Array.from({ length: 150_000 }, (_, at) => `a${at}=1`).join(' ')}>x`,
    ],
  ];
  for (const [what, html] of hostile) {
    it(`do not affect the next page: ${what}`, async () => {
      const outcome = await read(html).then(
        () => 'read',
        (thrown: { readonly kind: string }) => thrown.kind,
      );
      assert.match(outcome, /^(?:read|upstream-failed)$/);
      assert.equal((await read('<p>Well.')).text, 'Well.');
    });
  }

  it('fail above the memory limit', async () => {
    await assert.rejects(read('<'.repeat(8_000_000)), {
      kind: 'upstream-failed',
      message: /takes too much (?:memory|time)/,
    });
  });

  it('are read even if they are deeply nested', async () => {
    assert.equal((await read(`${'<div>'.repeat(5_000)}Deep down.`)).text, 'Deep down.');
  });

  it('run no scripts and fetch nothing', async () => {
    const { text } = await read(
      '<p>Seen.</p><script>document.body.innerHTML="EVIL"</script><img src="http://127.0.0.1:1/" onerror="throw 1"><iframe src="file:///etc/passwd"></iframe>',
    );
    assert.equal(text, 'Seen.');
  });
});

describe('createPageReader', () => {
  it('rejects at once with the reason of an aborted signal', async () => {
    const caller = new AbortController();
    const reading = read('<'.repeat(3_000_000), caller.signal);
    caller.abort(new Error('gone'));
    await assert.rejects(reading, /gone/);
    await assert.rejects(read('<p>x', caller.signal), /gone/);
  });

  it('reads pages of workspaces in turns', async () => {
    const order: string[] = [];
    const readFor = async (workspace: string, name: string): Promise<void> => {
      await reader.read(createPageTask('<p>Well.'), { tenant: { region: 'cn-beijing', workspace }, signal: NEVER });
      order.push(name);
    };
    await Promise.all([...['a1', 'a2', 'a3'].map((name) => readFor('attacker', name)), readFor('other', 'b1')]);
    assert.deepEqual(order, ['a1', 'b1', 'a2', 'a3']);
  });

  it('evaluates robots rules while a slow page is read', async () => {
    const slow = read('<'.repeat(3_000_000)).catch(() => undefined);
    assert.deepEqual(await evaluateRobots('User-agent: *\nDisallow: /', '/x'), {
      type: 'decision',
      isAllowed: false,
      delaySeconds: 0,
    });
    await slow;
  });

  it('evaluates robots rules while a page exhausts the memory', async () => {
    const small = createPageReader({ cpuMsMax: 30_000, heapMb: 128, residentBytesMax: 200 * 1024 * 1024 });
    // Takes about as long as the page takes to fill the process; which limit is noticed first is chance.
    const rules = `User-agent: *\n${`Disallow: /${'*a'.repeat(700)}b\n`.repeat(25)}Disallow: /a`;
    const url = `https://sea.example/${'a'.repeat(1_500)}`;
    const judging = small.evaluateRobots(
      { rulesUrl: 'https://sea.example/robots.txt', rules, url, agent: 'Parley' },
      NEVER,
    );
    const reading = small.read(createPageTask('<'.repeat(3_000_000)), {
      tenant: { region: 'cn-beijing', workspace: 'ws' },
      signal: NEVER,
    });
    await assert.rejects(reading, { kind: 'upstream-failed', message: /takes too much memory/ });
    assert.equal((await judging).isAllowed, false);
    await small.close();
  });
});

describe('a closed page reader', () => {
  it('starts no process', async () => {
    const closed = createPageReader();
    const rules = {
      rulesUrl: 'https://sea.example/robots.txt',
      rules: '',
      url: 'https://sea.example/',
      agent: 'Parley',
    };
    const judging = closed.evaluateRobots(rules, NEVER).catch((error: { readonly kind: string }) => error.kind);
    await closed.close();
    assert.equal(await judging, 'upstream-failed');
    await assert.rejects(closed.evaluateRobots(rules, NEVER), { kind: 'upstream-failed' });
  });
});

describe('robots rules', () => {
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
    it(`for Parley override the rules for all robots: ${path}`, async () => {
      const decision = await evaluateRobots(rules, path);
      assert.deepEqual([decision.isAllowed, decision.delaySeconds], [isAllowed, 2]);
    });
  }

  it('allow URLs that they do not mention; other texts contain no rules', async () => {
    for (const text of ['', '<!doctype html><p>Not found', 'Disallow: /', 'User-agent: *\nDisallow:\n']) {
      assert.equal((await evaluateRobots(text, '/x')).isAllowed, true, text);
    }
  });
});
