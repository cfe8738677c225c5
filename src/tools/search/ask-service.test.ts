import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { sendJson, startWeb } from '../__fixtures__/small-web.ts';
import { NEVER, queryOf } from './__fixtures__/queries.ts';
import { createBrave } from './providers/brave.ts';
import { createTavily } from './providers/tavily.ts';

interface Bad {
  readonly what: string;
  readonly answer: (response: ServerResponse) => void;
  readonly message: RegExp;
  readonly retryAfterSeconds?: number;
}

/** As the services refuse, each in its own words, which may quote whoever asks. */
const BAD: readonly Bad[] = [
  {
    what: 'a key that is not known',
    answer: (response) =>
      sendJson(response, { detail: { error: 'Unauthorized: missing or invalid API key. SECRET' } }, 401),
    message: /does not accept our key/,
  },
  {
    what: 'a token that is not known',
    answer: (response) =>
      sendJson(
        response,
        { type: 'ErrorResponse', error: { code: 'SUBSCRIPTION_TOKEN_INVALID', status: 422 }, time: 1 },
        422,
      ),
    message: /status 422/,
  },
  {
    what: 'a form of answers that is off',
    answer: (response) => response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1>'),
    message: /status 403/,
  },
  {
    what: 'too many requests, with when to come again',
    answer: (response) => response.writeHead(429, { 'retry-after': '30' }).end(),
    message: /too many requests/,
    retryAfterSeconds: 30,
  },
  {
    what: 'too many requests, without',
    answer: (response) => response.writeHead(429, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }).end(),
    message: /too many requests/,
    retryAfterSeconds: 10,
  },
  {
    what: 'work on it',
    answer: (response) => response.writeHead(503, { 'retry-after': '5' }).end(),
    message: /status 503/,
    retryAfterSeconds: 5,
  },
  {
    what: 'a page in the place of JSON',
    answer: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Welcome'),
    message: /form that is not known/,
  },
  {
    what: 'JSON of another form',
    answer: (response) => sendJson(response, { results: 'none', web: [] }),
    message: /form that is not known/,
  },
  {
    what: 'JSON that ends too early',
    answer: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"results": [{"url'),
    message: /form that is not known/,
  },
  {
    what: 'a redirect',
    answer: (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    message: /redirects elsewhere/,
  },
];

describe('a service that does not do what it should', () => {
  for (const { what, answer, message, retryAfterSeconds } of BAD) {
    it(`has failed, and the failure quotes nobody: ${what}`, async () => {
      await using web = await startWeb((_asked, response) => answer(response));
      const needs = { name: 'n', url: web.url, fetch: web.fetch, apiKey: 'SECRET' };
      for (const provider of [createTavily(needs), createBrave(needs)]) {
        await assert.rejects(provider.search(queryOf(), NEVER), (thrown) => {
          assert.ok(thrown instanceof ServiceError, String(thrown));
          assert.equal(thrown.kind, 'upstream-failed');
          assert.match(thrown.message, message);
          assert.equal(thrown.retryAfterSeconds, retryAfterSeconds);
          assert.doesNotMatch(thrown.message, /SECRET|127\.0|north sea|169\.254/);
          return true;
        });
      }
      assert.equal(web.asked.length, 2);
    });
  }
});
