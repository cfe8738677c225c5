import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { WebResponse, WebFetch } from '../../tools/web-fetch.ts';
import { forbidsModelUse } from './robots-directives.ts';
import { createRobotsPolicy } from './robots-policy.ts';
import type { RobotsPolicyOptions } from './robots-policy.ts';

const NEVER = new AbortController().signal;
const PAGE = 'https://sea.example/a?b=1';

const createResponse = (status: number, body: string | Iterable<Uint8Array> = ''): WebResponse => ({
  status,
  url: '',
  contentType: '',
  getHeader: () => '',
  body: Readable.from(typeof body === 'string' ? [Buffer.from(body)] : body),
});

/** Allows a URL unless the rules contain the word `Disallow`. */
const evaluateRobots: RobotsPolicyOptions['evaluateRobots'] = async ({ rules }) => ({
  isAllowed: !rules.includes('Disallow'),
  delaySeconds: 3,
});

function openPolicy(answer: () => WebResponse | Promise<WebResponse>) {
  const fetchedUrls: string[] = [];
  let now = 0;
  const fetch: WebFetch = async (url) => {
    fetchedUrls.push(url);
    return await answer();
  };
  const robots = createRobotsPolicy({
    fetch,
    evaluateRobots,
    clock: { now: () => 0, monotonic: () => now },
  });
  return { robots, fetchedUrls, later: (ms: number) => void (now += ms) };
}

describe('createRobotsPolicy', () => {
  const outcomes: readonly (readonly [what: string, answer: () => WebResponse, outcome: number | 'forbidden'])[] = [
    ['applies rules that allow', () => createResponse(200, 'Allow: /'), 3_000],
    ['applies rules that disallow', () => createResponse(200, 'Disallow: /'), 'forbidden'],
    ['allows everything if there is no robots.txt (404)', () => createResponse(404), 0],
    ['allows everything if robots.txt is not accessible (403)', () => createResponse(403), 0],
    ['forbids everything if the server fails (503)', () => createResponse(503), 'forbidden'],
    ['forbids everything if there are too many requests (429)', () => createResponse(429), 'forbidden'],
    [
      'forbids everything if the server is unreachable',
      () => {
        throw new ServiceError('upstream-failed', 'away');
      },
      'forbidden',
    ],
    [
      'forbids everything if the server is too slow',
      () => {
        throw new ServiceError('timeout', 'slow');
      },
      'forbidden',
    ],
    [
      'refuses a host that must not be contacted at all',
      () => {
        throw new ServiceError('invalid-request', 'no public address');
      },
      'forbidden',
    ],
  ];
  for (const [what, answer, outcome] of outcomes) {
    it(what, async () => {
      const { robots, fetchedUrls } = openPolicy(answer);
      if (outcome === 'forbidden') {
        const kind = what.endsWith('at all') ? 'invalid-request' : 'forbidden';
        await assert.rejects(robots.check(PAGE, NEVER), { kind });
      } else assert.equal(await robots.check(PAGE, NEVER), outcome);
      assert.deepEqual(fetchedUrls, ['https://sea.example/robots.txt']);
    });
  }

  it('caches rules for a day, and failures for a minute', async () => {
    for (const [answer, keptMs] of [
      [() => createResponse(404), 86_400_000],
      [() => createResponse(500), 60_000],
    ] as const) {
      const { robots, fetchedUrls, later } = openPolicy(answer);
      const check = () => robots.check(PAGE, NEVER).catch(() => undefined);
      await check();
      later(keptMs - 1);
      await check();
      assert.equal(fetchedUrls.length, 1);
      later(1);
      await check();
      assert.equal(fetchedUrls.length, 2);
    }
  });

  it('shares one fetch among callers, and continues it when one of them leaves', async () => {
    const { promise, resolve } = Promise.withResolvers<WebResponse>();
    const { robots, fetchedUrls } = openPolicy(() => promise);
    const caller = new AbortController();
    const gone = robots.check(PAGE, caller.signal);
    const stays = robots.check(PAGE, NEVER);
    caller.abort(new Error('gone'));
    await assert.rejects(gone, /gone/);
    resolve(createResponse(404));
    assert.equal(await stays, 0);
    assert.equal(fetchedUrls.length, 1);
  });

  it('aborts the fetch when the last caller leaves, and starts a new one for the next caller', async () => {
    const signals: AbortSignal[] = [];
    const fetch: WebFetch = (_url, { signal }) => {
      signals.push(signal);
      return signals.length > 1
        ? Promise.resolve(createResponse(404))
        : new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          });
    };
    const robots = createRobotsPolicy({ fetch, evaluateRobots });
    const [one, other] = [new AbortController(), new AbortController()];
    const gone = [robots.check(PAGE, one.signal), robots.check(PAGE, other.signal)];
    one.abort(new Error('gone'));
    assert.equal(signals[0]?.aborted, false);
    other.abort(new Error('gone'));
    for (const each of gone) await assert.rejects(each, /gone/);
    assert.equal(signals[0]?.aborted, true);
    assert.equal(await robots.check(PAGE, NEVER), 0, 'an aborted fetch is not cached');
    assert.equal(signals.length, 2);
  });

  it('fetches rules per scheme and port', async () => {
    const { robots, fetchedUrls } = openPolicy(() => createResponse(404));
    for (const url of ['https://sea.example/', 'http://sea.example/', 'https://sea.example:8443/'])
      await robots.check(url, NEVER);
    assert.equal(new Set(fetchedUrls).size, 3);
  });

  it('reads robots.txt up to a limit', async () => {
    let pieces = 0;
    const endless = function* () {
      yield Buffer.from('Disallow: /\n');
      for (;;) {
        pieces++;
        yield Buffer.from('# nothing\n'.repeat(1_000));
      }
    };
    const { robots } = openPolicy(() => createResponse(200, endless()));
    await assert.rejects(robots.check(PAGE, NEVER), { kind: 'forbidden' });
    assert.ok(pieces < 200, `${pieces} pieces were read`);
  });
});

describe('forbidsModelUse', () => {
  const words: readonly (readonly [words: string, refuses: boolean])[] = [
    ['', false],
    ['noindex, nofollow, noarchive', false],
    ['none', false],
    ['all', false],
    ['noai', true],
    ['NoIndex, NOAI, noimageai', true],
    ['nosnippet', true],
    ['max-snippet:0', true],
    ['max-snippet: -1, max-image-preview:large', false],
    ['googlebot: noai', false],
    ['googlebot: noindex, noai', false],
    ['parley: noindex, noai', true],
    ['unavailable_after: 25 Jun 2030 15:00:00 PST', false],
    ['googlebot: noindex, parley: nosnippet', true],
  ];
  for (const [text, refuses] of words)
    it(`returns ${refuses} for "${text}"`, () => assert.equal(forbidsModelUse(text), refuses));
});
