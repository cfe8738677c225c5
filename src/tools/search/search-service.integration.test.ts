import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { sendJson, startTestWebServer } from '../__fixtures__/test-web-server.ts';
import { NEVER, createTestQuery } from './__fixtures__/test-search.ts';
import { createBrave } from './providers/brave.ts';
import { createTavily } from './providers/tavily.ts';

interface FailureCase {
  readonly what: string;
  readonly answer: (response: ServerResponse) => void;
  readonly message: RegExp;
  readonly retryAfterSeconds?: number;
}

/** Error responses of the services, whose bodies may quote the key or the query. */
const FAILURES: readonly FailureCase[] = [
  {
    what: 'an unknown API key',
    answer: (response) =>
      sendJson(response, { detail: { error: 'Unauthorized: missing or invalid API key. SECRET' } }, 401),
    message: /rejects the API key/,
  },
  {
    what: 'an unknown token',
    answer: (response) =>
      sendJson(
        response,
        { type: 'ErrorResponse', error: { code: 'SUBSCRIPTION_TOKEN_INVALID', status: 422 }, time: 1 },
        422,
      ),
    message: /status 422/,
  },
  {
    what: 'a disabled response format',
    answer: (response) => response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1>'),
    message: /status 403/,
  },
  {
    what: 'too many requests with Retry-After in seconds',
    answer: (response) => response.writeHead(429, { 'retry-after': '30' }).end(),
    message: /too many requests/,
    retryAfterSeconds: 30,
  },
  {
    what: 'too many requests without Retry-After in seconds',
    answer: (response) => response.writeHead(429, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }).end(),
    message: /too many requests/,
    retryAfterSeconds: 10,
  },
  {
    what: 'maintenance',
    answer: (response) => response.writeHead(503, { 'retry-after': '5' }).end(),
    message: /status 503/,
    retryAfterSeconds: 5,
  },
  {
    what: 'a page instead of JSON',
    answer: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Welcome'),
    message: /unknown format/,
  },
  {
    what: 'JSON with another schema',
    answer: (response) => sendJson(response, { results: 'none', web: [] }),
    message: /unknown format/,
  },
  {
    what: 'incomplete JSON',
    answer: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"results": [{"url'),
    message: /unknown format/,
  },
  {
    what: 'a redirect',
    answer: (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    message: /redirects to another URL/,
  },
];

describe('a search service that fails', () => {
  for (const { what, answer, message, retryAfterSeconds } of FAILURES) {
    it(`becomes an error that quotes neither key nor query: ${what}`, async () => {
      await using web = await startTestWebServer((_request, response) => answer(response));
      const needs = { name: 'n', url: web.url, fetch: web.fetch, apiKey: 'SECRET' };
      for (const provider of [createTavily(needs), createBrave(needs)]) {
        await assert.rejects(provider.search(createTestQuery(), NEVER), (thrown) => {
          assert.ok(thrown instanceof ServiceError, String(thrown));
          assert.equal(thrown.kind, 'upstream-failed');
          assert.match(thrown.message, message);
          assert.equal(thrown.retryAfterSeconds, retryAfterSeconds);
          assert.doesNotMatch(thrown.message, /SECRET|127\.0|north sea|169\.254/);
          return true;
        });
      }
      assert.equal(web.requests.length, 2);
    });
  }
});
