import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { WebAnswer, WebFetch } from '../web-fetch.ts';
import { refusesModels } from './robots-words.ts';
import { createRobots } from './robots.ts';
import type { RobotsOptions } from './robots.ts';

const NEVER = new AbortController().signal;
const PAGE = 'https://sea.example/a?b=1';

const answerOf = (status: number, body: string | Iterable<Uint8Array> = ''): WebAnswer => ({
  status,
  url: '',
  contentType: '',
  header: () => '',
  body: Readable.from(typeof body === 'string' ? [Buffer.from(body)] : body),
});

/** Allows what holds no word of `Disallow`. */
const judge: RobotsOptions['judge'] = async ({ rules }) => ({
  isAllowed: !rules.includes('Disallow'),
  delaySeconds: 3,
});

function robotsOf(answer: () => WebAnswer | Promise<WebAnswer>) {
  const asked: string[] = [];
  let now = 0;
  const fetch: WebFetch = async (url) => {
    asked.push(url);
    return await answer();
  };
  const robots = createRobots({ fetch, judge, clock: { now: () => 0, monotonic: () => now } });
  return { robots, asked, later: (ms: number) => void (now += ms) };
}

describe('the robots rules of a site', () => {
  const outcomes: readonly (readonly [what: string, answer: () => WebAnswer, outcome: number | 'forbidden'])[] = [
    ['that allow', () => answerOf(200, 'Allow: /'), 3_000],
    ['that do not', () => answerOf(200, 'Disallow: /'), 'forbidden'],
    ['that are not there (404)', () => answerOf(404), 0],
    ['that may not be seen (403)', () => answerOf(403), 0],
    ['of a server that fails (503)', () => answerOf(503), 'forbidden'],
    ['of a server that has too much to do (429)', () => answerOf(429), 'forbidden'],
    [
      'that cannot be reached',
      () => {
        throw new ServiceError('upstream-failed', 'away');
      },
      'forbidden',
    ],
    [
      'that come too slowly',
      () => {
        throw new ServiceError('timeout', 'slow');
      },
      'forbidden',
    ],
    [
      'that may not be asked for at all',
      () => {
        throw new ServiceError('invalid-request', 'no public address');
      },
      'forbidden',
    ],
  ];
  for (const [what, answer, outcome] of outcomes) {
    it(what, async () => {
      const { robots, asked } = robotsOf(answer);
      if (outcome === 'forbidden') {
        const kind = what.endsWith('at all') ? 'invalid-request' : 'forbidden';
        await assert.rejects(robots.check(PAGE, NEVER), { kind });
      } else assert.equal(await robots.check(PAGE, NEVER), outcome);
      assert.deepEqual(asked, ['https://sea.example/robots.txt']);
    });
  }

  it('are kept for a day, and failures for a minute', async () => {
    for (const [answer, keptMs] of [
      [() => answerOf(404), 86_400_000],
      [() => answerOf(500), 60_000],
    ] as const) {
      const { robots, asked, later } = robotsOf(answer);
      const check = () => robots.check(PAGE, NEVER).catch(() => undefined);
      await check();
      later(keptMs - 1);
      await check();
      assert.equal(asked.length, 1);
      later(1);
      await check();
      assert.equal(asked.length, 2);
    }
  });

  it('are asked for once for all who wait, and whoever goes takes nobody along', async () => {
    const { promise, resolve } = Promise.withResolvers<WebAnswer>();
    const { robots, asked } = robotsOf(() => promise);
    const caller = new AbortController();
    const gone = robots.check(PAGE, caller.signal);
    const stays = robots.check(PAGE, NEVER);
    caller.abort(new Error('gone'));
    await assert.rejects(gone, /gone/);
    resolve(answerOf(404));
    assert.equal(await stays, 0);
    assert.equal(asked.length, 1);
  });

  it('are asked for no longer when the last who waits has gone, and again when somebody comes back', async () => {
    const signals: AbortSignal[] = [];
    const fetch: WebFetch = (_url, { signal }) => {
      signals.push(signal);
      return signals.length > 1
        ? Promise.resolve(answerOf(404))
        : new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          });
    };
    const robots = createRobots({ fetch, judge });
    const [one, other] = [new AbortController(), new AbortController()];
    const gone = [robots.check(PAGE, one.signal), robots.check(PAGE, other.signal)];
    one.abort(new Error('gone'));
    assert.equal(signals[0]?.aborted, false);
    other.abort(new Error('gone'));
    for (const each of gone) await assert.rejects(each, /gone/);
    assert.equal(signals[0]?.aborted, true);
    assert.equal(await robots.check(PAGE, NEVER), 0, 'what was given up says nothing of the site');
    assert.equal(signals.length, 2);
  });

  it('are those of each scheme and port by itself', async () => {
    const { robots, asked } = robotsOf(() => answerOf(404));
    for (const url of ['https://sea.example/', 'http://sea.example/', 'https://sea.example:8443/'])
      await robots.check(url, NEVER);
    assert.equal(new Set(asked).size, 3);
  });

  it('are looked at up to a bound, however long they are', async () => {
    let pieces = 0;
    const endless = function* () {
      yield Buffer.from('Disallow: /\n');
      for (;;) {
        pieces++;
        yield Buffer.from('# nothing\n'.repeat(1_000));
      }
    };
    const { robots } = robotsOf(() => answerOf(200, endless()));
    await assert.rejects(robots.check(PAGE, NEVER), { kind: 'forbidden' });
    assert.ok(pieces < 200, `${pieces} pieces were read`);
  });
});

describe('words to robots', () => {
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
  for (const [text, refuses] of words) it(`"${text}"`, () => assert.equal(refusesModels(text), refuses));
});
